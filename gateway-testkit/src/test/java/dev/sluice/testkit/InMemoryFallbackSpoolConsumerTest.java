package dev.sluice.testkit;

import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.FallbackSpoolConsumer;
import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.Spool;

class InMemoryFallbackSpoolConsumerTest extends FallbackSpoolConsumerContract {
  final InMemorySpool spool = new InMemorySpool();

  @Override
  protected Spool spool() {
    return spool;
  }

  @Override
  protected IdempotencyStore idempotencyStore() {
    return spool;
  }

  @Override
  protected Backlog backlog() {
    return spool;
  }

  @Override
  protected FallbackSpoolConsumer consumer() {
    return spool;
  }
}
