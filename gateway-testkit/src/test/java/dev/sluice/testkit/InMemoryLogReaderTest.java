package dev.sluice.testkit;

import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.LogStore;
import dev.sluice.query.port.LogReader;
import java.util.UUID;

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

  @Override
  protected void assignTemplate(LogId log, UUID template) {
    store.assignTemplate(log, template);
  }
}
