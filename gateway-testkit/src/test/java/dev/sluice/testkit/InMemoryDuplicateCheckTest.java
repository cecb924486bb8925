package dev.sluice.testkit;

import dev.sluice.core.port.DeliveryStatusReader;
import dev.sluice.core.port.FallbackDuplicateCheck;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.SpoolConsumer;

class InMemoryDuplicateCheckTest extends FallbackDuplicateCheckContract {
  final InMemorySpool spool = new InMemorySpool();

  @Override
  protected Spool spool() {
    return spool;
  }

  @Override
  protected DeliveryStatusReader deliveryStatuses() {
    return spool;
  }

  @Override
  protected SpoolConsumer consumer(FallbackDuplicateCheck duplicateCheck) {
    spool.setDuplicateCheck(duplicateCheck);
    return spool.consumer();
  }
}
