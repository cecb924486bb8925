package dev.sluice.redis;

import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.DailyCounts;
import dev.sluice.core.port.DeliveryStatusReader;
import dev.sluice.core.port.FallbackCounts;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.SpoolConsumer;
import dev.sluice.testkit.FallbackCountsContract;
import dev.sluice.testkit.SharedEngines;
import dev.sluice.testkit.SpoolContract;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;

class RedisSpoolIT extends SpoolContract {
  final RedisTestKeys keys = new RedisTestKeys(redisUrl());
  final RedisSpool spool =
      keys.spool(
          keys.settings(
              new SpoolConsumer.DeliveryLimits(MAX_RECORDS, MAX_BYTES, Duration.ofMillis(100))));
  final List<SpoolConsumer> opened = new ArrayList<>();

  String redisUrl() {
    return SharedEngines.redis().url();
  }

  @Override
  protected Spool spool() {
    return spool;
  }

  @Override
  protected SpoolConsumer restartConsumer() {
    var spoolConsumer = spool.newConsumer(0);
    opened.add(spoolConsumer);
    return spoolConsumer;
  }

  @AfterEach
  void close() {
    opened.forEach(SpoolConsumer::close);
    spool.close();
    keys.close();
  }

  @Nested
  class Counts extends DailyCountsContract {
    @Override
    protected DailyCounts dailyCounts() {
      return spool;
    }
  }

  @Nested
  class Fallbacks extends FallbackCountsContract {
    @Override
    protected FallbackCounts fallbackCounts() {
      return spool;
    }
  }

  @Nested
  class Status extends DeliveryStatusContract {
    @Override
    protected DeliveryStatusReader deliveryStatuses() {
      return spool;
    }
  }

  @Nested
  class Depth extends BacklogContract {
    @Override
    protected Backlog backlog() {
      return spool;
    }
  }
}
