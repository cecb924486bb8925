package dev.sluice.redis;

import dev.sluice.testkit.Containers;
import org.junit.jupiter.api.Tag;

/** The contract on Redis as its makers ship it, of the oldest release that is supported. */
@Tag("container")
final class RedisSpoolContainerTest extends RedisSpoolTest {
  @Override
  String redisUrl() {
    return Containers.redisUrl();
  }
}
