package dev.sluice.clickhouse;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.query.port.TemplateStats.TemplateCount;
import dev.sluice.templates.dictionary.Dictionary.DictionaryEntry;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.UUID;
import org.junit.jupiter.api.Test;

final class RowBinaryTest {

  /** A row of id, text, first seen, last seen and no link. */
  private static final String ROW =
      "04b2008fd98c1dd4 7e42f8ec980980e9 03 616263 0700000000000000 0001000000000000"
          + " 0000000000000000 0000000000000000";

  @Test
  void readEntries_row_isTheEntry() throws Exception {
    var entries = RowBinary.readEntries(in(ROW), "t", EntryKind.TEXT, 3);

    assertThat(entries)
        .containsExactly(
            new DictionaryEntry(
                "t",
                EntryKind.TEXT,
                UUID.fromString("d41d8cd9-8f00-b204-e980-0998ecf8427e"),
                "abc",
                7,
                256,
                null));
  }

  @Test
  void readEntries_moreBytesThanAllowed_fails() {
    assertThatThrownBy(() -> RowBinary.readEntries(in(ROW.repeat(2)), "t", EntryKind.TEXT, 5))
        .isInstanceOf(ClickHouseException.class)
        .hasMessageContaining("exceed 5 bytes");
  }

  /** A row of id, service, severity number, and the counts of two ranges. */
  private static final String COUNT =
      "04b2008fd98c1dd4 7e42f8ec980980e9 03 616263 11 0700000000000000 0001000000000000";

  @Test
  void readCounts_rows_areTheCounts() throws Exception {
    var counts = new ArrayList<TemplateCount>();

    assertThat(RowBinary.readCounts(in(COUNT.repeat(2)), 2, 6, counts)).isFalse();
    assertThat(counts)
        .hasSize(2)
        .containsOnly(
            new TemplateCount(
                UUID.fromString("d41d8cd9-8f00-b204-e980-0998ecf8427e"), "abc", 17, 7, 256));
  }

  @Test
  void readCounts_moreThanAllowed_stopsBeforeTheEnd() throws Exception {
    var counts = new ArrayList<TemplateCount>();

    assertThat(RowBinary.readCounts(in(COUNT.repeat(3)), 2, 9, counts)).isTrue();
    assertThat(counts).hasSize(2);
    assertThat(RowBinary.readCounts(in(COUNT.repeat(3)), 9, 5, counts)).isTrue();
  }

  private static InputStream in(String hex) {
    return new ByteArrayInputStream(HexFormat.of().parseHex(hex.replace(" ", "")));
  }
}
