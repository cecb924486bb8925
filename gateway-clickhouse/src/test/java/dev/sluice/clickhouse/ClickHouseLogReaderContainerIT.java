package dev.sluice.clickhouse;

import dev.sluice.testkit.Containers;
import org.junit.jupiter.api.Tag;

/** Runs the log reader contract on a ClickHouse server in a container. */
@Tag("container")
final class ClickHouseLogReaderContainerIT extends ClickHouseLogReaderIT {
  @Override
  ClickHouseSettings settings() {
    return TestDatabase.settings(Containers.clickHouseUrl());
  }
}
