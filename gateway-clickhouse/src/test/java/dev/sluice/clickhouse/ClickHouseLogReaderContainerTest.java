package dev.sluice.clickhouse;

import dev.sluice.testkit.Containers;
import org.junit.jupiter.api.Tag;

/** The contract of reading on a ClickHouse server as its makers ship it. */
@Tag("container")
final class ClickHouseLogReaderContainerTest extends ClickHouseLogReaderTest {
  @Override
  ClickHouseSettings settings() {
    return ClickHouseSettings.of(Containers.clickHouseUrl(), "sluice", "sluice");
  }
}
