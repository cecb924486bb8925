package dev.sluice.testkit;

import dev.sluice.core.port.DeadLetterQueue;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.SpoolConsumer;
import java.time.InstantSource;

class InMemoryDeadLetterQueueTest extends DeadLetterQueueContract {
  final InMemorySpool spool = new InMemorySpool(1_000, 1 << 20, CAPACITY, InstantSource.system());

  @Override
  protected Spool spool() {
    return spool;
  }

  @Override
  protected SpoolConsumer consumer() {
    return spool;
  }

  @Override
  protected DeadLetterQueue deadLetterQueue() {
    return spool;
  }
}
