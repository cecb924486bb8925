package dev.sluice.templates;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.function.IntPredicate;
import java.util.function.LongToIntFunction;
import org.junit.jupiter.api.Test;

class SwarAsciiTest {

  @Test
  void leadingLetters_anyByteAtAnyPosition_areAsciiLetters() {
    everyByteAtEveryPlace(SwarAscii::leadingLetters, 'q', SwarAsciiTest::isLetter);
  }

  @Test
  void leadingNumberChars_anyByteAtAnyPosition_areLettersDigitsHyphensAndDots() {
    everyByteAtEveryPlace(
        SwarAscii::leadingNumberChars,
        '7',
        c -> isLetter(c) || c >= '0' && c <= '9' || c == '-' || c == '.');
  }

  @Test
  void firstBytes_anyCount_clearsTheOthers() {
    long bytes = 0x8877665544332211L;

    assertThat(SwarAscii.firstBytes(bytes, 1)).isEqualTo(0x11L);
    assertThat(SwarAscii.firstBytes(bytes, 3)).isEqualTo(0x332211L);
    assertThat(SwarAscii.firstBytes(bytes, 7)).isEqualTo(0x77665544332211L);
    assertThat(SwarAscii.firstBytes(bytes, 8)).isEqualTo(bytes);
  }

  /** Tests each byte between bytes that match and bytes that do not; no sum may carry over. */
  private static void everyByteAtEveryPlace(
      LongToIntFunction count, char counting, IntPredicate counts) {
    for (int place = 0; place < Long.BYTES; place++) {
      for (int c = 0; c < 256; c++) {
        for (int next : new int[] {0, counting, 0xFF}) {
          long bytes = 0;
          for (int i = Long.BYTES - 1; i >= 0; i--) {
            bytes = bytes << 8 | (i < place ? counting : i == place ? c : next);
          }
          int expected = place;
          if (counts.test(c)) {
            expected = next == counting ? Long.BYTES : place + 1;
          }
          assertThat(count.applyAsInt(bytes))
              .as("%02x at %d before %02x", c, place, next)
              .isEqualTo(expected);
        }
      }
    }
  }

  private static boolean isLetter(int c) {
    return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z';
  }
}
