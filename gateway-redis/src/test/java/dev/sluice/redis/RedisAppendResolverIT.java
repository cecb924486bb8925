package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.AppendResolver;
import dev.sluice.core.port.AppendResolver.ResolveResult;
import dev.sluice.core.port.DeliveryStatusReader.DeliveryStatus;
import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.core.port.Spool.AppendResult;
import dev.sluice.core.port.SpoolConsumer.DeliveryLimits;
import dev.sluice.testkit.AppendResolverContract;
import dev.sluice.testkit.LogBatches;
import java.time.Duration;
import java.time.InstantSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The contract on several shards, of which an append under a claim uses that of its key. */
class RedisAppendResolverIT extends AppendResolverContract {
  private static final int SHARDS = 3;

  final RedisTestKeys keys = new RedisTestKeys();
  final RedisSpool spool = spool(SHARDS);

  private RedisSpool spool(int shards) {
    return new RedisSpool(
        new RedisSpool.RedisSpoolSettings(
            keys.url,
            shards,
            keys.prefix,
            "sluice",
            "one",
            DeliveryLimits.DEFAULT,
            Duration.ofMinutes(2),
            RedisTestKeys.COMMAND_TIMEOUT,
            RedisSpool.AppendSettings.DEFAULT),
        InstantSource.system());
  }

  @AfterEach
  void close() {
    spool.close();
    keys.close();
  }

  @Override
  protected Spool spool() {
    return spool;
  }

  @Override
  protected IdempotencyStore idempotencyStore() {
    return spool;
  }

  @Override
  protected AppendResolver resolver() {
    return spool;
  }

  @Test
  void resolve_redisFull_isResolved() {
    var batch = LogBatches.of(1);
    var other = LogBatches.of(1);
    append(spool, batch);

    try (var _ = keys.limitMemory()) {
      assertThat(resolve(spool, batch)).isInstanceOf(ResolveResult.Known.class);
      assertThat(resolve(spool, other)).isEqualTo(new ResolveResult.Refused());
    }

    assertThat(append(spool, other)).isEqualTo(new AppendResult.Refused());
  }

  @Test
  void resolve_deliveredBatch_isKnownAsDelivered() throws Exception {
    try (var one = spool(1)) {
      var batch = LogBatches.of(1);
      append(one, batch);
      deliverAll(one);

      var known = (ResolveResult.Known) resolve(one, batch);

      assertThat(one.statusOf(known.receipt()).toCompletableFuture().join())
          .isEqualTo(new DeliveryStatus.Delivered());
    }
  }

  /** With very many append ids, Redis may forget the id of an entry that is not delivered yet. */
  @Test
  void resolve_forgottenIdOfAPendingEntry_isKnown() throws Exception {
    try (var one = spool(1)) {
      var batch = LogBatches.of(1);
      var appendResult = append(one, batch);
      forgetAppendIds();

      assertThat(resolve(one, batch))
          .isEqualTo(new ResolveResult.Known(((AppendResult.Accepted) appendResult).receipt()));

      deliverAll(one);
      assertThat(resolve(one, batch)).isEqualTo(new ResolveResult.Refused());
    }
  }

  @Test
  void resolve_manyPendingEntriesWithForgottenIds_waitsForTheirDelivery() throws Exception {
    try (var one = spool(1)) {
      var batch = LogBatches.of(1);
      for (var older : LogBatches.list(150, 1)) {
        append(one, older);
      }
      append(one, batch);
      forgetAppendIds();

      assertThat(resolve(one, batch)).isEqualTo(new ResolveResult.Undecided());

      deliverAll(one);
      assertThat(resolve(one, batch)).isEqualTo(new ResolveResult.Refused());
    }
  }

  private void forgetAppendIds() {
    keys.redis().del(keys.key("appends"), keys.key("appends:entries"));
  }

  private static void deliverAll(RedisSpool spool) throws InterruptedException {
    try (var consumer = spool.newConsumer(0)) {
      for (var next = consumer.poll(Duration.ofSeconds(30), Duration.ZERO);
          next.isPresent();
          next = consumer.poll(Duration.ZERO, Duration.ZERO)) {
        consumer.ack(next.get());
      }
    }
  }

  private static AppendResult append(RedisSpool spool, LogBatch batch) {
    return spool.append(batch, AppendMode.SYNC).toCompletableFuture().join();
  }

  private static ResolveResult resolve(RedisSpool spool, LogBatch batch) {
    return spool.resolve(batch.appendId()).toCompletableFuture().join();
  }
}
