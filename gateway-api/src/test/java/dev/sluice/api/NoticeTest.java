package dev.sluice.api;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** NOTICE lists the libraries that the jar contains. The build generates target/NOTICE. */
class NoticeTest {

  @Test
  void notice_libraries_areThoseOfTheBuild() throws IOException {
    assertThat(Files.readString(Path.of("../NOTICE")))
        .as("run `make notice`")
        .isEqualTo(Files.readString(Path.of("target/NOTICE")));
  }
}
