package dev.sluice.core.domain;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.nio.ByteBuffer;
import java.util.Arrays;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LogIdTest {

  @Test
  void toHex_smallNumbers_keepsLeadingZeros() {
    assertThat(new LogId(1, 0xAB).toHex()).isEqualTo("000000000000000100000000000000ab");
  }

  @Property
  void ofHex_outputOfToHex_isTheSameId(@ForAll long high, @ForAll long low) {
    var id = new LogId(high, low);

    assertThat(LogId.ofHex(id.toHex())).isEqualTo(id);
    assertThat(LogId.ofHex(id.toHex().toUpperCase(java.util.Locale.ROOT))).isEqualTo(id);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "0",
        "0000000000000001000000000000000",
        "000000000000000100000000000000ab0",
        "000000000000000100000000000000xy",
        "-00000000000000100000000000000ab",
        "0000000000000001 0000000000000ab"
      })
  void ofHex_notThirtyTwoDigits_throws(String hex) {
    assertThatIllegalArgumentException().isThrownBy(() -> LogId.ofHex(hex));
  }

  @Property
  void compareTo_anyTwoIds_isTheOrderOfTheirBytes(
      @ForAll long high, @ForAll long low, @ForAll long otherHigh, @ForAll long otherLow) {
    assertSameOrder(new LogId(high, low), new LogId(otherHigh, otherLow));
    assertSameOrder(new LogId(high, low), new LogId(high, otherLow));
    assertSameOrder(new LogId(high, low), new LogId(high, low));
  }

  private static void assertSameOrder(LogId a, LogId b) {
    assertThat(Integer.signum(a.compareTo(b)))
        .isEqualTo(Integer.signum(Arrays.compareUnsigned(bytes(a), bytes(b))))
        .isEqualTo(Integer.signum(a.toHex().compareTo(b.toHex())));
  }

  private static byte[] bytes(LogId id) {
    return ByteBuffer.allocate(LogId.BYTES).putLong(id.high()).putLong(id.low()).array();
  }

  @Test
  void plus_withinAReservedRange_countsInTheLowestBits() {
    var first = new LogId(7, 0xFFFF_FFFF_0000_0000L);

    assertThat(first.plus(0)).isEqualTo(first);
    assertThat(first.plus(5)).isEqualTo(new LogId(7, 0xFFFF_FFFF_0000_0005L));
    assertThat(first.plus(Integer.MAX_VALUE)).isGreaterThan(first.plus(Integer.MAX_VALUE - 1));
  }
}
