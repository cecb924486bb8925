package dev.sluice.clickhouse;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.core.port.Dictionary.Entry;
import dev.sluice.core.port.Dictionary.Kind;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.util.HexFormat;
import java.util.UUID;
import org.junit.jupiter.api.Test;

final class RowBinaryTest {

  /** Id, text, first and last seen, no link. */
  private static final String ROW =
      "04b2008fd98c1dd4 7e42f8ec980980e9 03 616263 0700000000000000 0001000000000000"
          + " 0000000000000000 0000000000000000";

  @Test
  void readEntries_row_isTheEntry() throws Exception {
    var entries = RowBinary.readEntries(in(ROW), "t", Kind.TEXT, 3);

    assertThat(entries)
        .containsExactly(
            new Entry(
                "t",
                Kind.TEXT,
                UUID.fromString("d41d8cd9-8f00-b204-e980-0998ecf8427e"),
                "abc",
                7,
                256,
                null));
  }

  @Test
  void readEntries_moreThanFits_fails() {
    assertThatThrownBy(() -> RowBinary.readEntries(in(ROW.repeat(2)), "t", Kind.TEXT, 5))
        .isInstanceOf(ClickHouseFailed.class)
        .hasMessageContaining("more than 5 bytes");
  }

  private static InputStream in(String hex) {
    return new ByteArrayInputStream(HexFormat.of().parseHex(hex.replace(" ", "")));
  }
}
