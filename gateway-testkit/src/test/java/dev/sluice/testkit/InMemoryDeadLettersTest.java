package dev.sluice.testkit;

import dev.sluice.core.port.DeadLetterQueue;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.SpoolConsumer;
import java.time.InstantSource;

class InMemoryDeadLettersTest extends DeadLettersContract {
  final InMemorySpool spool = new InMemorySpool(1_000, 1 << 20, CAPACITY, InstantSource.system());

  @Override
  protected Spool spool() {
    return spool;
  }

  @Override
  protected SpoolConsumer deliveries() {
    return spool;
  }

  @Override
  protected DeadLetterQueue deadLetters() {
    return spool;
  }
}
