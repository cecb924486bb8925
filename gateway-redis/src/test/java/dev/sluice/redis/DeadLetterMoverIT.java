package dev.sluice.redis;

import static dev.sluice.redis.RedisTestKeys.bytes;
import static dev.sluice.testkit.SpoolContract.assertSameBatches;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.core.codec.LogBatchCodec;
import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.DailyCounts.RecordCounts;
import dev.sluice.core.port.SpoolConsumer;
import dev.sluice.testkit.LogBatches;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Dead letters that an earlier release kept in Redis. */
class DeadLetterMoverIT {
  private final RedisTestKeys keys = new RedisTestKeys();
  private final RedisSpool spool = keys.spool(keys.settings(SpoolConsumer.DeliveryLimits.DEFAULT));
  private final List<DeadLetter> moved = new ArrayList<>();

  @AfterEach
  void close() {
    spool.close();
    keys.close();
  }

  /** Adds a dead letter in the form of the earlier release. */
  private void addOld(LogBatch log, String reason) {
    keys.redis()
        .xadd(
            keys.dead(),
            Map.of(
                bytes("i"),
                bytes(log.firstId().toHex()),
                bytes("d"),
                bytes(Long.toString(log.day().toEpochDay())),
                bytes("r"),
                bytes(reason),
                bytes("a"),
                bytes("1700000000123"),
                bytes("e"),
                LogBatchCodec.encode(log)));
  }

  @Test
  void moveDeadLetters_morePagesThanOne_movesAllInTheirOrder() {
    var logs = new ArrayList<LogBatch>();
    for (int i = 0; i < 150; i++) {
      logs.add(LogBatches.of(1));
      addOld(logs.getLast(), "no " + i);
    }
    assertThat(spool.recordCounts()).isEqualTo(new RecordCounts(0, 150, 0));

    assertThat(spool.moveDeadLetters(moved::addAll)).isTrue();

    assertSameBatches(moved.stream().map(DeadLetter::log).toList(), logs);
    assertThat(moved.getLast().reason()).isEqualTo("no 149");
    assertThat(moved.getLast().deadLetteredAt())
        .isEqualTo(Instant.ofEpochMilli(1_700_000_000_123L));
    assertThat(keys.redis().xlen(keys.dead())).isZero();
    assertThat(spool.recordCounts()).isEqualTo(RecordCounts.NONE);
  }

  @Test
  void moveDeadLetters_notWritten_keepsThem() {
    addOld(LogBatches.of(1), "no");

    assertThat(spool.moveDeadLetters(_ -> false)).isFalse();

    assertThat(keys.redis().xlen(keys.dead())).isEqualTo(1);
  }

  /** The gateway is killed between the write and the deletion. */
  @Test
  void moveDeadLetters_killedBeforeTheDeletion_movesThemAgain() {
    addOld(LogBatches.of(1), "no");

    assertThatThrownBy(
            () ->
                spool.moveDeadLetters(
                    letters -> {
                      moved.addAll(letters);
                      throw new IllegalStateException("killed");
                    }))
        .isInstanceOf(IllegalStateException.class);

    assertThat(spool.moveDeadLetters(moved::addAll)).isTrue();
    assertThat(moved).hasSize(2);
    assertThat(moved).extracting(letter -> letter.log().firstId()).containsOnly(id(moved));
  }

  private static LogId id(List<DeadLetter> letters) {
    return letters.getFirst().log().firstId();
  }

  @Test
  void moveDeadLetters_someUnreadable_leavesTheseInRedis() {
    for (int i = 0; i < 100; i++) {
      keys.redis().xadd(keys.dead(), Map.of(bytes("e"), bytes("x")));
    }
    var log = LogBatches.of(1);
    addOld(log, "no");

    assertThat(spool.moveDeadLetters(moved::addAll)).isTrue();

    assertSameBatches(moved.stream().map(DeadLetter::log).toList(), List.of(log));
    assertThat(keys.redis().xlen(keys.dead())).isEqualTo(100);
  }
}
