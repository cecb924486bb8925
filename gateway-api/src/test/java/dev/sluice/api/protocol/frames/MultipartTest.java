package dev.sluice.api.protocol.frames;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.DecodeException;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.ingest.MemoryReservation;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MultipartTest {
  private static final String[] FRAGMENTS = {
    "\"", "=", ";", "*=", "''", "%", "\r\n", "--b", "--", "=?UTF-8?B?", "[", "{", "1e9", ":"
  };

  @ParameterizedTest
  @ValueSource(
      strings = {
        "form-data; name=\"",
        "form-data; name=",
        "form-data; =",
        "form-data; name*=\"",
        "form-data; filename*=x''%",
        "form-data; filename=\"=?UTF-8?Q?=?=\"",
        "\"",
        ""
      })
  void parse_invalidContentDisposition_isADecodeException(String disposition) {
    var body = "--b\r\nContent-Disposition: %s\r\n\r\nx\r\n--b--\r\n".formatted(disposition);

    assertThatExceptionOfType(DecodeException.class)
        .isThrownBy(() -> Multipart.parse(body.getBytes(ISO_8859_1), "b").part("manifest"));
  }

  /** Mutations of a whole upload, the same in every run. */
  @Test
  void decode_mutatedUpload_isDecodedOrThrowsDecodeException() {
    var upload =
        """
        --b\r
        Content-Disposition: form-data; name="manifest"; filename="m"\r
        Content-Type: application/json\r
        \r
        [{"file":"a","frame":1,"len":0,"recs":0,"crc32":0}]\r
        --b\r
        Content-Disposition: form-data; name="frames"\r
        \r
        \r
        --b--\r
        """
            .getBytes(ISO_8859_1);
    var random = new Random(30);
    for (int i = 0; i < 20_000; i++) {
      var mutated = mutate(random, upload);
      try {
        var decoder = new FrameUpload("b", new TreeMap<>());
        var parts = Multipart.parse(mutated, "b");
        parts.part("manifest");
        decoder.decode(
            mutated, Limits.DEFAULT, new MemoryReservation(new MemoryBudget(Long.MAX_VALUE), 0));
      } catch (DecodeException _) {
        // the only permitted exception
      }
    }
  }

  private static byte[] mutate(Random random, byte[] upload) {
    var text = new StringBuilder(new String(upload, ISO_8859_1));
    for (int i = random.nextInt(1, 4); i > 0; i--) {
      int at = random.nextInt(text.length());
      switch (random.nextInt(3)) {
        case 0 -> text.setCharAt(at, (char) random.nextInt(256));
        case 1 -> text.delete(at, Math.min(text.length(), at + random.nextInt(1, 12)));
        default -> text.insert(at, FRAGMENTS[random.nextInt(FRAGMENTS.length)]);
      }
    }
    return text.toString().getBytes(ISO_8859_1);
  }
}
