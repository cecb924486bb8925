package dev.sluice.redis;

import static dev.sluice.redis.RedisTestKeys.bytes;
import static dev.sluice.testkit.SpoolContract.assertSameBatches;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.DeadLetterQueue;
import dev.sluice.core.port.DeadLetterQueue.Capacity;
import dev.sluice.core.port.DeadLetterQueue.DeadLetterItem;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.AppendResult;
import dev.sluice.core.port.SpoolConsumer;
import dev.sluice.testkit.DeadLetterQueueContract;
import dev.sluice.testkit.LogBatches;
import io.lettuce.core.Range;
import io.lettuce.core.XAddArgs;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class RedisDeadLetterQueueTest extends DeadLetterQueueContract {
  static final SpoolConsumer.DeliveryLimits LIMITS =
      new SpoolConsumer.DeliveryLimits(1_000, 1 << 20, Duration.ofMillis(50));
  static final Duration TIMEOUT = Duration.ofSeconds(5);
  static final Instant DEAD_LETTERED_AT = Instant.ofEpochMilli(1_700_000_000_123L);

  final RedisTestKeys keys = new RedisTestKeys();
  final RedisSpool spool = keys.spool(keys.settings(LIMITS));
  final RedisSpoolConsumer spoolConsumer = spool.newConsumer(0);
  final DeadLetterQueue deadLetterQueue = spool.deadLetters();

  @AfterEach
  void close() {
    spoolConsumer.close();
    spool.close();
    keys.close();
  }

  @Override
  protected Spool spool() {
    return spool;
  }

  @Override
  protected SpoolConsumer consumer() {
    return spoolConsumer;
  }

  @Override
  protected DeadLetterQueue deadLetterQueue() {
    return deadLetterQueue;
  }

  @Test
  void ack_withADeadLetter_writesItsFieldsAndCountsTheAck() throws Exception {
    var log = LogBatches.of(1);
    ackWith(spool, 0, List.of(new DeadLetter(log, "no such column", DEAD_LETTERED_AT)), 7);

    var fields = new TreeMap<String, byte[]>();
    keys.redis()
        .xrange(keys.dead(), Range.unbounded())
        .getFirst()
        .getBody()
        .forEach((name, value) -> fields.put(new String(name, UTF_8), value));
    assertThat(fields).containsOnlyKeys("i", "d", "r", "a", "e");
    assertThat(text(fields.get("i"))).isEqualTo(log.firstId().toHex());
    assertThat(text(fields.get("d"))).isEqualTo(Long.toString(day(log)));
    assertThat(text(fields.get("r"))).isEqualTo("no such column");
    assertThat(text(fields.get("a"))).isEqualTo("1700000000123");
    assertThat(ledger("settled")).isEqualTo("7");
  }

  @Test
  void purge_existing_isCountedOnItsDayOnce() throws Exception {
    var log = LogBatches.of(1);
    ackWith(spool, 0, List.of(new DeadLetter(log, "no", DEAD_LETTERED_AT)), 1);
    var id = deadLetterQueue.list(null, 1).getFirst().id();

    deadLetterQueue.purge(id);
    deadLetterQueue.purge(id);

    assertThat(ledger("purged:" + day(log))).isEqualTo("1");
  }

  @Test
  void replay_existing_appendsItsRecordAndDayToTheStream() throws Exception {
    var log = LogBatches.of(1);
    ackWith(spool, 0, List.of(new DeadLetter(log, "no", DEAD_LETTERED_AT)), 1);

    deadLetterQueue.replay(deadLetterQueue.list(null, 1).getFirst().id(), log);

    var fields = new TreeMap<String, String>();
    keys.redis()
        .xrange(keys.stream(), Range.unbounded())
        .getFirst()
        .getBody()
        .forEach((name, value) -> fields.put(text(name), text(value)));
    assertThat(fields)
        .containsOnlyKeys("n", "d", "e")
        .containsEntry("n", "1")
        .containsEntry("d", Long.toString(day(log)));
  }

  @Test
  void list_someUnreadable_omitsThemAndFillsThePage() throws Exception {
    for (int i = 0; i < 100; i++) {
      keys.redis().xadd(keys.dead(), Map.of(bytes("e"), bytes("x")));
    }
    var unreadable = keys.redis().xadd(keys.dead(), Map.of(bytes("what"), bytes("ever")));
    byte[] two = LogBatchCodec.encode(LogBatches.of(2));
    keys.redis().xadd(keys.dead(), Map.of(bytes("e"), two, bytes("a"), bytes("1")));
    var log = LogBatches.of(1);
    keys.redis()
        .xadd(
            keys.dead(),
            Map.of(bytes("e"), LogBatchCodec.encode(log), bytes("a"), bytes("1"), bytes("r"), two));

    var list = deadLetterQueue.list(null, 1);

    assertSameBatches(
        list.stream().map(deadLetterItem -> deadLetterItem.letter().log()).toList(), List.of(log));
    assertThat(deadLetterQueue.list(list.getFirst().id(), 1)).isEmpty();
    assertThat(deadLetterQueue.find("0-" + unreadable)).isEmpty();
    assertThat(deadLetterQueue.purge("0-" + unreadable)).isTrue();
    assertThat(deadLetterQueue.capacity().used()).isEqualTo(102);
  }

  @Test
  void list_severalShards_isOrderedByTimeForAnyPageSize() throws Exception {
    var settings =
        new RedisSpool.RedisSpoolSettings(
            keys.url,
            3,
            keys.prefix,
            "sluice",
            "one",
            LIMITS,
            50,
            Duration.ofMinutes(2),
            RedisTestKeys.COMMAND_TIMEOUT,
            RedisSpool.AppendSettings.DEFAULT);
    try (var three = new RedisSpool(settings, InstantSource.system())) {
      var sent = new ArrayList<String>();
      for (int i = 0; i < 12; i++) {
        // the same times in all shards, so that the order within a millisecond matters
        var id = "%d-%d".formatted(1_000 + i / 6, 1 + i / 3 % 2);
        byte[] dead = bytes("{%s:%d}:dead".formatted(keys.prefix, i % 3));
        var log = LogBatches.of(1);
        keys.redis()
            .xadd(
                dead,
                new XAddArgs().id(id),
                Map.of(bytes("e"), LogBatchCodec.encode(log), bytes("a"), bytes("1")));
        sent.add((i % 3) + "-" + id);
      }
      for (int limit : new int[] {1, 2, 5, 12, 100}) {
        assertThat(idsOf(three.deadLetters(), limit)).isEqualTo(sent);
      }
      assertThat(three.deadLetters().capacity()).isEqualTo(new Capacity(12, 150));
      assertThat(three.deadLetters().find("2-1000-1")).isPresent();
      assertThat(three.deadLetters().find("3-1000-1")).isEmpty();
      keys.redis()
          .del(bytes("{" + keys.prefix + ":1}:dead"), bytes("{" + keys.prefix + ":2}:dead"));
    }
  }

  /** Lists more dead letters than one reply contains. */
  @Test
  void list_moreThanOneReply_returnsAll() throws Exception {
    var settings = keys.settings("one", LIMITS, Duration.ofMinutes(2));
    var large =
        new RedisSpool.RedisSpoolSettings(
            settings.url(),
            1,
            settings.prefix(),
            "sluice",
            "one",
            LIMITS,
            1_000,
            settings.consumerIdleTimeout(),
            settings.commandTimeout(),
            settings.appendSettings());
    try (var many = new RedisSpool(large, InstantSource.system())) {
      var deadLetters =
          IntStream.range(0, 500)
              .mapToObj(i -> new DeadLetter(LogBatches.of(1), "no " + i, DEAD_LETTERED_AT))
              .toList();
      ackWith(many, 0, deadLetters, 500);

      var reasons =
          many.deadLetters().list(null, 400).stream()
              .map(deadLetterItem -> deadLetterItem.letter().reason());

      assertThat(reasons)
          .containsExactlyElementsOf(
              deadLetters.subList(0, 400).stream().map(DeadLetter::reason).toList());
    }
  }

  @Test
  void allOperations_redisFull_stillWork() throws Exception {
    var deadLetters =
        IntStream.range(0, 3)
            .mapToObj(i -> new DeadLetter(LogBatches.of(1), "no " + i, DEAD_LETTERED_AT))
            .toList();
    append(spool, LogBatches.of(10));
    try (var _ = keys.limitMemory()) {
      assertThat(spool.append(LogBatches.of(1)).toCompletableFuture().join())
          .isInstanceOf(AppendResult.Unavailable.class);

      assertThat(spoolConsumer.ack(spoolConsumer.poll(TIMEOUT).orElseThrow(), deadLetters))
          .isTrue();
      var items = deadLetterQueue.list(null, 10);
      assertThat(items.stream().map(item -> item.letter().reason()))
          .containsExactly("no 0", "no 1", "no 2");
      assertThat(deadLetterQueue.purge(items.getFirst().id())).isTrue();
      assertThat(deadLetterQueue.replay(items.getLast().id(), items.getLast().letter().log()))
          .isTrue();

      assertThat(ledger("settled")).isEqualTo("10");
      assertThat(ledger("purged:" + day(items.getFirst().letter().log()))).isEqualTo("1");
      assertSameBatches(
          spoolConsumer.poll(TIMEOUT).orElseThrow().batches(),
          List.of(deadLetters.getLast().log()));
    }
  }

  private static List<String> idsOf(DeadLetterQueue deadLetters, int limit) {
    var ids = new ArrayList<String>();
    for (var page = deadLetters.list(null, limit); !page.isEmpty(); ) {
      ids.addAll(page.stream().map(DeadLetterItem::id).toList());
      page = deadLetters.list(ids.getLast(), limit);
    }
    return ids;
  }

  private static void ackWith(
      RedisSpool spool, int shard, List<DeadLetter> deadLetters, int records) throws Exception {
    append(spool, LogBatches.of(records));
    try (var spoolConsumer = spool.newConsumer(shard)) {
      var delivery = spoolConsumer.poll(TIMEOUT).orElseThrow();
      assertThat(spoolConsumer.ack(delivery, deadLetters)).isTrue();
    }
  }

  private static void append(RedisSpool spool, LogBatch batch) {
    assertThat(spool.append(batch).toCompletableFuture().join())
        .isInstanceOf(AppendResult.Accepted.class);
  }

  private String ledger(String field) {
    return text(keys.redis().hget(keys.ledger(), bytes(field)));
  }

  private static String text(byte @Nullable [] bytes) {
    return bytes == null ? "none" : new String(bytes, UTF_8);
  }

  private static long day(LogBatch log) {
    return Math.floorDiv(log.receivedNanos(), Duration.ofDays(1).toNanos());
  }
}
