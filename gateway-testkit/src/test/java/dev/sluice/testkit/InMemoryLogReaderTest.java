package dev.sluice.testkit;

import dev.sluice.core.port.LogReader;
import dev.sluice.core.port.LogStore;

final class InMemoryLogReaderTest extends LogReaderContract {
  private final InMemoryLogStore store = new InMemoryLogStore();

  @Override
  protected LogStore store() {
    return store;
  }

  @Override
  protected LogReader reader() {
    return store;
  }
}
