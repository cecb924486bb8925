package dev.sluice.tools;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LineTest {

  @ParameterizedTest
  @CsvSource({
    "2026-11-21T16:14:16Z  WARN 1 --- slow,WARN",
    "[WARNING] bad import,WARN",
    "[INFO] BUILD SUCCESS,INFO",
    "error: cannot find symbol,ERROR",
    "terrors and informants,INFO",
  })
  void severityOf_line_isTheFirstSeverityName(String line, String expected) {
    assertThat(Line.severityOf(line)).isEqualTo(expected);
  }

  @Test
  void read_file_skipsBlankLinesAndUsesTheFileNameAsService(@TempDir Path folder) throws Exception {
    var file = Files.write(folder.resolve("build.log"), new byte[] {'a', '\n', '\n', (byte) 0xFF});

    var lines = Line.read(file, 10);

    assertThat(lines)
        .containsExactly(new Line("build", "INFO", "a"), new Line("build", "INFO", "\uFFFD"));
  }

  @Test
  void read_moreThanMaxLines_stopsAtTheLimit(@TempDir Path folder) throws Exception {
    var file = Files.writeString(folder.resolve("x"), "1\n2\n3\n");

    assertThat(Line.read(file, 2)).extracting(Line::body).containsExactly("1", "2");
  }
}
