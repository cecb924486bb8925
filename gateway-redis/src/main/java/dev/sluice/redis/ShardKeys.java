package dev.sluice.redis;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.List;
import java.util.stream.IntStream;

/**
 * The Redis keys of one shard. All have the same hash tag (the part in braces), so that they are in
 * one slot of a Redis Cluster, as the keys of a script must be.
 *
 * <p>The arrays are shared and must not be modified.
 */
record ShardKeys(
    int number,
    byte[] stream,
    byte[] ledger,
    byte[] appends,
    byte[] appendEntries,
    byte[] keys,
    byte[] keyAges,
    byte[] dead) {

  static List<ShardKeys> all(String prefix, int count) {
    return IntStream.range(0, count).mapToObj(i -> of("{%s:%d}:".formatted(prefix, i), i)).toList();
  }

  private static ShardKeys of(String prefix, int number) {
    return new ShardKeys(
        number,
        key(prefix, "logs"),
        key(prefix, "ledger"),
        key(prefix, "appends"),
        key(prefix, "appends:entries"),
        key(prefix, "keys"),
        key(prefix, "keys:age"),
        key(prefix, "dead"));
  }

  private static byte[] key(String prefix, String name) {
    return (prefix + name).getBytes(UTF_8);
  }
}
