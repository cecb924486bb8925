package dev.sluice.templates.dictionary;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ContentIdTest {

  /** The test suite of RFC 1321, appendix A.5. */
  @ParameterizedTest
  @CsvSource({
    "'', d41d8cd98f00b204e9800998ecf8427e",
    "a, 0cc175b9c0f1b6a831c399e269772661",
    "abc, 900150983cd24fb0d6963f7d28e17f72",
    "message digest, f96b697d7cb7938d525a2f31aaf161d0",
    "abcdefghijklmnopqrstuvwxyz, c3fcd3d76192e4007dfb496cca67e13b",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789,"
        + " d174ab98d277d9f5a5611c2c9f419d9f",
    "12345678901234567890123456789012345678901234567890123456789012345678901234567890,"
        + " 57edf4a22be3c955ac49da2e2107b67a",
  })
  void of_rfc1321TestSuite_isTheMd5(String text, String md5) {
    assertThat(hex(ContentId.of(text))).isEqualTo(md5);
  }

  @Test
  void of_partOfAnArray_hashesOnlyThePart() {
    var bytes = "[grüße]".getBytes(UTF_8);

    assertThat(ContentId.of(bytes, 1, bytes.length - 2)).isEqualTo(ContentId.of("grüße"));
  }

  private static String hex(UUID id) {
    return id.toString().replace("-", "");
  }
}
