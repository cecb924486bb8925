package dev.sluice.redis;

import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.Deliveries;
import dev.sluice.core.port.Spool;
import dev.sluice.testkit.Containers;
import dev.sluice.testkit.SpoolContract;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;

/** The contract on Redis as its makers ship it, of the oldest release that is supported. */
@Tag("container")
class RedisSpoolContainerTest extends SpoolContract {
  final RedisSpool spool =
      new RedisSpool(
          new RedisSpool.Settings(
              Containers.redisUrl(),
              1,
              "test-" + UUID.randomUUID(),
              "sluice",
              "one",
              new RedisDeliveries.Bounds(MAX_RECORDS, MAX_BYTES, Duration.ofMillis(100)),
              Duration.ofMinutes(2),
              Keys.COMMAND_TIMEOUT),
          InstantSource.system());
  final List<Deliveries> opened = new ArrayList<>();

  @Override
  protected Spool spool() {
    return spool;
  }

  @Override
  protected Backlog backlog() {
    return spool;
  }

  @Override
  protected Deliveries restarted() {
    var deliveries = spool.deliveries(0);
    opened.add(deliveries);
    return deliveries;
  }

  @AfterEach
  void close() {
    opened.forEach(Deliveries::close);
    spool.close();
  }
}
