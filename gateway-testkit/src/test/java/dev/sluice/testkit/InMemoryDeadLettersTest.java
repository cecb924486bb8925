package dev.sluice.testkit;

import dev.sluice.core.port.DeadLetters;
import dev.sluice.core.port.Deliveries;
import dev.sluice.core.port.Spool;
import java.time.InstantSource;

class InMemoryDeadLettersTest extends DeadLettersContract {
  final InMemorySpool spool = new InMemorySpool(1_000, 1 << 20, CAPACITY, InstantSource.system());

  @Override
  protected Spool spool() {
    return spool;
  }

  @Override
  protected Deliveries deliveries() {
    return spool;
  }

  @Override
  protected DeadLetters deadLetters() {
    return spool;
  }
}
