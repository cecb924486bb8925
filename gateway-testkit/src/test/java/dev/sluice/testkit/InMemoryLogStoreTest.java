package dev.sluice.testkit;

import dev.sluice.core.port.LogStore;
import dev.sluice.query.port.LogReader;

final class InMemoryLogStoreTest extends LogStoreContract {
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
