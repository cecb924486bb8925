package dev.sluice.clickhouse;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** Reads the SQL of docs/operations.md, so that tests run the documented statements unchanged. */
final class OperationsDoc {
  private static final String BLOCK = "```sql\n";

  private OperationsDoc() {}

  /** Returns the statements of the first SQL block below a heading. */
  static List<String> statements(String heading) throws IOException {
    var page = Files.readString(Path.of("../docs/operations.md"));
    int below = page.indexOf("\n" + heading + "\n");
    if (below < 0) {
      throw new AssertionError("no heading '%s'".formatted(heading));
    }
    int from = page.indexOf(BLOCK, below) + BLOCK.length();
    return Stream.of(page.substring(from, page.indexOf("```", from)).split(";\n"))
        .map(String::strip)
        .filter(statement -> !statement.isEmpty())
        .toList();
  }
}
