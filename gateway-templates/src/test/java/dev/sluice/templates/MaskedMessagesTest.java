package dev.sluice.templates;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/**
 * Compares masked forms with those in {@code masked-messages.txt}, since templates are looked up by
 * the masked form: another form of the same message would be another template. A line of the file
 * is a generated message and its masked form, with a tab between; {@code \n}, {@code \\} and {@code
 * \xNN} are escaped bytes.
 */
class MaskedMessagesTest {
  @Test
  void apply_generatedMessages_haveTheRecordedForms() throws IOException {
    var fast = new MessageMasker();
    var slow = new MessageMasker(true);
    var differences = new ArrayList<String>();
    int count = 0;
    var file =
        Objects.requireNonNull(MaskedMessagesTest.class.getResourceAsStream("masked-messages.txt"));
    try (var lines = new BufferedReader(new InputStreamReader(file, US_ASCII))) {
      for (var line = lines.readLine(); line != null; line = lines.readLine()) {
        count++;
        int tab = line.indexOf('\t');
        var message = unescape(line.substring(0, tab));
        for (var masker : new MessageMasker[] {fast, slow}) {
          masker.apply(message, 0, message.length);
          var form = escape(masker.bytes(), masker.length());
          if (!form.equals(line.substring(tab + 1))) {
            differences.add(line + "\nbut was\t" + form);
          }
        }
      }
    }

    assertThat(differences).isEmpty();
    assertThat(count).isEqualTo(5_000);
  }

  private static byte[] unescape(String text) {
    var bytes = new ByteArrayOutputStream();
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c != '\\') {
        bytes.write(c);
      } else if (text.charAt(++i) == 'x') {
        bytes.write(HexFormat.fromHexDigits(text, i + 1, i + 3));
        i += 2;
      } else {
        bytes.write(text.charAt(i) == 'n' ? '\n' : '\\');
      }
    }
    return bytes.toByteArray();
  }

  private static String escape(byte[] bytes, int length) {
    var text = new StringBuilder();
    for (int i = 0; i < length; i++) {
      int c = bytes[i] & 0xFF;
      if (c == '\\') {
        text.append("\\\\");
      } else if (c == '\n') {
        text.append("\\n");
      } else if (c < ' ' || c >= 0x7F) {
        text.append("\\x").append(HexFormat.of().toHexDigits((byte) c));
      } else {
        text.append((char) c);
      }
    }
    return text.toString();
  }
}
