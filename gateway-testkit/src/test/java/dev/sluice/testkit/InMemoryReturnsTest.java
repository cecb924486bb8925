package dev.sluice.testkit;

import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.FallbackSpoolConsumer;
import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.Spool;

class InMemoryReturnsTest extends ReturnsContract {
  final InMemorySpool spool = new InMemorySpool();

  @Override
  protected Spool spool() {
    return spool;
  }

  @Override
  protected IdempotencyStore keys() {
    return spool;
  }

  @Override
  protected Backlog backlog() {
    return spool;
  }

  @Override
  protected FallbackSpoolConsumer returns() {
    return spool;
  }
}
