package dev.sluice.clickhouse;

import dev.sluice.testkit.Containers;
import org.junit.jupiter.api.Tag;

/** Runs the log store contract on a ClickHouse server in a container. */
@Tag("container")
final class ClickHouseLogWriterContainerIT extends ClickHouseLogWriterIT {
  @Override
  ClickHouseSettings settings() {
    return TestDatabase.settings(Containers.clickHouseUrl());
  }
}
