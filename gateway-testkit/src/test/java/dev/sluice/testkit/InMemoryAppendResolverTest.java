package dev.sluice.testkit;

import dev.sluice.core.port.AppendResolver;
import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.Spool;

class InMemoryAppendResolverTest extends AppendResolverContract {
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
  protected AppendResolver resolver() {
    return spool;
  }
}
