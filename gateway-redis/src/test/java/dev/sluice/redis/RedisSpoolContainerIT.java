package dev.sluice.redis;

import dev.sluice.testkit.Containers;
import org.junit.jupiter.api.Tag;

/** The spool contract on the official container image of the oldest supported Redis release. */
@Tag("container")
final class RedisSpoolContainerIT extends RedisSpoolIT {
  @Override
  String redisUrl() {
    return Containers.redisUrl();
  }
}
