package dev.sluice.redis;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.List;
import java.util.stream.IntStream;

/**
 * The keys of one shard. What stands in braces decides a key's slot in a cluster, and a script's
 * keys must be in one.
 *
 * <p>The arrays are shared and never changed.
 */
record Shard(int number, byte[] stream, byte[] ledger, byte[] dead) {

  static List<Shard> all(String prefix, int count) {
    return IntStream.range(0, count)
        .mapToObj(
            i ->
                new Shard(
                    i,
                    "{%s:%d}:logs".formatted(prefix, i).getBytes(UTF_8),
                    "{%s:%d}:ledger".formatted(prefix, i).getBytes(UTF_8),
                    "{%s:%d}:dead".formatted(prefix, i).getBytes(UTF_8)))
        .toList();
  }
}
