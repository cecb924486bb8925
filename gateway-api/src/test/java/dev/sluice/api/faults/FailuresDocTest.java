package dev.sluice.api.faults;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** docs/failures.md tells of every fault that the suite makes, and of no other. */
class FailuresDocTest {
  private static final Pattern ROW = Pattern.compile("^\\| `([a-z-]+)` \\|", Pattern.MULTILINE);

  @Test
  void document_faults_matchTheSuite() throws IOException {
    var document = Files.readString(Path.of("../docs/failures.md"));

    var told = ROW.matcher(document).results().map(row -> row.group(1)).toList();

    assertThat(told).isEqualTo(FaultSuite.all().stream().map(Fault::name).toList());
  }
}
