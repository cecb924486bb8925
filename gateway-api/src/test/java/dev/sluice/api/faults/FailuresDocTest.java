package dev.sluice.api.faults;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Checks that docs/failures.md lists exactly the faults of the suite. */
class FailuresDocTest {
  private static final Pattern ROW = Pattern.compile("^\\| `([a-z-]+)` \\|", Pattern.MULTILINE);

  @Test
  void document_faults_matchTheSuite() throws IOException {
    var document = Files.readString(Path.of("../docs/failures.md"));

    var documented = ROW.matcher(document).results().map(row -> row.group(1)).toList();

    assertThat(documented).isEqualTo(FaultSuite.all().stream().map(Fault::name).toList());
  }
}
