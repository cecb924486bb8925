package dev.sluice.api;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Checks that docs/operations.md lists exactly the metrics of the gateway. */
class OperationsDocIT {
  private static final Pattern DOCUMENTED =
      Pattern.compile("^\\| `(sluice_[a-z_]+)` \\|", Pattern.MULTILINE);
  private static final Pattern EXPORTED =
      Pattern.compile("^# TYPE (sluice_[a-z_]+) ", Pattern.MULTILINE);

  @Test
  void document_metrics_matchTheGateway() throws IOException {
    var gateway = Gateway.shared();
    gateway.postLogs("{\"body\":\"meters are created with the first log\"}");
    var document = Files.readString(Path.of("../docs/operations.md"));

    var exported = gateway.get(gateway.management("/actuator/prometheus")).body();

    assertThat(names(EXPORTED, exported)).isEqualTo(names(DOCUMENTED, document)).isNotEmpty();
  }

  /**
   * Returns the names of metrics. Prometheus has a separate family for the maximum of a
   * distribution; the document does not.
   */
  private static Set<String> names(Pattern pattern, String text) {
    return pattern
        .matcher(text)
        .results()
        .map(result -> result.group(1))
        .filter(name -> !name.endsWith("_max"))
        .collect(Collectors.toCollection(TreeSet::new));
  }
}
