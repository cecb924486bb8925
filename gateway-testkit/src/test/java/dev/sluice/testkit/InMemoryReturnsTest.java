package dev.sluice.testkit;

import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.IdempotencyKeys;
import dev.sluice.core.port.Returns;
import dev.sluice.core.port.Spool;

class InMemoryReturnsTest extends ReturnsContract {
  final InMemorySpool spool = new InMemorySpool();

  @Override
  protected Spool spool() {
    return spool;
  }

  @Override
  protected IdempotencyKeys keys() {
    return spool;
  }

  @Override
  protected Backlog backlog() {
    return spool;
  }

  @Override
  protected Returns returns() {
    return spool;
  }
}
