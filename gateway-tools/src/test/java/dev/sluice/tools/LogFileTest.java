package dev.sluice.tools;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LogFileTest {
  @TempDir Path folder;

  private LogFile file(String text) throws IOException {
    return new LogFile(Files.writeString(folder.resolve("a.ndjson"), text));
  }

  private static List<String> lines(LogFile file) throws Exception {
    var lines = new ArrayList<String>();
    file.forEach((line, log) -> lines.add(line + " " + log));
    return lines;
  }

  @Test
  void forEach_blankLines_areSkippedButCounted() throws Exception {
    assertThat(lines(file("{\"body\":\"a\"}\n\n  \r\n{\"body\":\"ü\"}\r\n{\"body\":\"c\"}")))
        .containsExactly("1 {\"body\":\"a\"}", "4 {\"body\":\"ü\"}", "5 {\"body\":\"c\"}");
    assertThat(lines(file("{}\n"))).containsExactly("1 {}");
    assertThat(lines(file(""))).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "{\"body\":; is not valid JSON",
        "plain text; is not valid JSON",
        "{} {}; is not valid JSON",
        "[1]; is not a JSON object but array",
        "\"text\"; is not a JSON object but string",
        "null; is not a JSON object but null",
      })
  void forEach_invalidLine_reportsFileAndLine(String line, String reason) throws Exception {
    var file = file("{}\n\n" + line + "\n{}\n");

    assertThatExceptionOfType(UsageException.class)
        .isThrownBy(() -> lines(file))
        .withMessageStartingWith(file.path() + ":3: " + reason);
  }

  @Test
  void forEach_invalidUtf8_reportsFileAndLine() throws Exception {
    var bytes = "{}\n{\"body\":\"?\"}".getBytes(UTF_8);
    bytes[bytes.length - 3] = (byte) 0xFF;
    var file = new LogFile(Files.write(folder.resolve("b.ndjson"), bytes));

    assertThatExceptionOfType(UsageException.class)
        .isThrownBy(() -> lines(file))
        .withMessageStartingWith(file.path() + ":2: is not valid JSON");
  }

  @Test
  void forEach_lineWithoutEnd_isRejectedAtTheLimit() throws Exception {
    var path = folder.resolve("long.ndjson");
    var spaces = new byte[1 << 20];
    Arrays.fill(spaces, (byte) ' ');
    try (OutputStream out = Files.newOutputStream(path)) {
      for (int written = 0; written <= LogFile.MAX_LINE_BYTES; written += spaces.length) {
        out.write(spaces);
      }
    }

    assertThatExceptionOfType(UsageException.class)
        .isThrownBy(() -> lines(new LogFile(path)))
        .withMessage(path + ":1: is longer than 33554432 bytes");
  }

  @Test
  void list_folder_returnsItsLogFilesByName() throws Exception {
    for (var name : List.of("b.ndjson", "a.ndjson", "a.templates.csv", "a_2k.log")) {
      Files.createFile(folder.resolve(name));
    }
    Files.createDirectory(folder.resolve("c.ndjson"));

    assertThat(LogFile.list(folder))
        .extracting(LogFile::name)
        .containsExactly("a.ndjson", "b.ndjson");
  }

  @Test
  void list_noLogFiles_reportsTheReason() {
    assertThatExceptionOfType(UsageException.class)
        .isThrownBy(() -> LogFile.list(folder))
        .withMessage("no file in " + folder + " ends in .ndjson");
    assertThatExceptionOfType(UsageException.class)
        .isThrownBy(() -> LogFile.list(folder.resolve("x")))
        .withMessage(folder.resolve("x") + " is not a directory");
  }
}
