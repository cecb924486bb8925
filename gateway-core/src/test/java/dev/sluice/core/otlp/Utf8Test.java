package dev.sluice.core.otlp;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CodingErrorAction;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.SplittableRandom;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class Utf8Test {

  @Property(tries = 5_000)
  void firstInvalid_anyBytes_agreesWithTheJdk(@ForAll byte[] bytes) {
    agrees(bytes, 0, bytes.length);
  }

  @Property(tries = 5_000, shrinking = ShrinkingMode.OFF)
  void firstInvalid_mutatedText_agreesWithTheJdk(@ForAll long seed) {
    var random = new SplittableRandom(seed);
    var bytes = RandomOtlp.text(random, 60).getBytes(UTF_8);
    for (int i = random.nextInt(3); i > 0 && bytes.length > 0; i--) {
      bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
    }
    int from = random.nextInt(bytes.length + 1);

    agrees(bytes, 0, bytes.length);
    agrees(bytes, from, bytes.length);
    agrees(bytes, 0, from);
  }

  /** Every lead byte with every second byte, and with third and fourth bytes at the boundaries. */
  @Test
  void firstInvalid_everyLeadAndSecondByte_agreesWithTheJdk() {
    int[] borders = {0x00, 0x7F, 0x80, 0xBF, 0xC0, 0xFF};
    for (int lead = 0x80; lead <= 0xFF; lead++) {
      for (int second = 0; second <= 0xFF; second++) {
        for (int third : borders) {
          for (int fourth : borders) {
            var bytes = new byte[] {(byte) lead, (byte) second, (byte) third, (byte) fourth};
            agrees(bytes, 0, 4);
            agrees(bytes, 0, 3);
            agrees(bytes, 0, 2);
            agrees(bytes, 0, 1);
          }
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "00",
        "7f",
        "c280",
        "dfbf",
        "e0a080",
        "ed9fbf",
        "ee8080",
        "efbfbf",
        "f0908080",
        "f48fbfbf"
      })
  void isValid_firstAndLastOfEveryLength_isTrueAtAnyPosition(String hex) {
    var sequence = HexFormat.of().parseHex(hex);
    for (int before = 0; before <= 17; before++) {
      var bytes = between(before, sequence, 17 - before);

      assertThat(Utf8.isValid(bytes, 0, bytes.length)).isTrue();
      assertThat(Utf8.isValid(bytes, before, before + sequence.length)).isTrue();
    }
  }

  /** Overlong forms, surrogates (alone or as a CESU-8 pair), beyond U+10FFFF, stray bytes. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "c080",
        "c1bf",
        "e08080",
        "e09fbf",
        "f0808080",
        "f08fbfbf",
        "eda080",
        "edbfbf",
        "eda0bdedb880",
        "f4908080",
        "f5808080",
        "f888808080",
        "80",
        "bf",
        "fe",
        "ff"
      })
  void firstInvalid_illFormedSequence_isItsPosition(String hex) {
    var sequence = HexFormat.of().parseHex(hex);
    for (int before = 0; before <= 17; before++) {
      var bytes = between(before, sequence, 9);

      assertThat(Utf8.firstInvalid(bytes, 0, bytes.length)).isEqualTo(before);
      assertThat(Utf8.isValid(bytes, 0, bytes.length)).isFalse();
    }
  }

  @Test
  void isValid_truncatedAnywhere_isFalseOnlyInsideACharacter() {
    var text = "aé€😀 plain ascii to the end, then 😀€é";
    var bytes = text.getBytes(UTF_8);
    for (int cut = 0; cut <= bytes.length; cut++) {
      boolean between = cut == bytes.length || (bytes[cut] & 0xC0) != 0x80;

      assertThat(Utf8.isValid(bytes, 0, cut)).as("cut at %d", cut).isEqualTo(between);
    }
  }

  @Test
  void isValid_empty_isTrue() {
    assertThat(Utf8.isValid(new byte[] {-1}, 0, 0)).isTrue();
    assertThat(Utf8.isValid(new byte[] {-1}, 1, 1)).isTrue();
  }

  @Test
  void isValid_invalidBytesOutsideTheRange_areIgnored() {
    var bytes = between(8, new byte[] {-1}, 8);

    assertThat(Utf8.isValid(bytes, 0, 8)).isTrue();
    assertThat(Utf8.isValid(bytes, 9, 17)).isTrue();
  }

  private static byte[] between(int before, byte[] sequence, int after) {
    var bytes = new byte[before + sequence.length + after];
    Arrays.fill(bytes, (byte) 'x');
    System.arraycopy(sequence, 0, bytes, before, sequence.length);
    return bytes;
  }

  private static void agrees(byte[] bytes, int from, int to) {
    var in = ByteBuffer.wrap(bytes, from, to - from);
    UTF_8
        .newDecoder()
        .onMalformedInput(CodingErrorAction.REPORT)
        .decode(in, CharBuffer.allocate(to - from + 1), true);
    if (Utf8.firstInvalid(bytes, from, to) != in.position()) {
      assertThat(Utf8.firstInvalid(bytes, from, to))
          .as(HexFormat.of().formatHex(bytes, from, to))
          .isEqualTo(in.position());
    }
    if (Utf8.isValid(bytes, from, to) == in.hasRemaining()) {
      assertThat(Utf8.isValid(bytes, from, to))
          .as(HexFormat.of().formatHex(bytes, from, to))
          .isEqualTo(!in.hasRemaining());
    }
  }
}
