package dev.sluice.testkit;

import dev.sluice.core.port.DeadLetterStore;

class InMemoryDeadLetterStoreTest extends DeadLetterStoreContract {
  private final InMemoryDeadLetterStore deadLetterStore = new InMemoryDeadLetterStore();

  @Override
  protected DeadLetterStore deadLetterStore() {
    return deadLetterStore;
  }
}
