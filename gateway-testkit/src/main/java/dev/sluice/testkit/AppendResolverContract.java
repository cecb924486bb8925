package dev.sluice.testkit;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.AppendResolver;
import dev.sluice.core.port.AppendResolver.ResolveResult;
import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.IdempotencyStore.Claim;
import dev.sluice.core.port.IdempotencyStore.ClaimResult;
import dev.sluice.core.port.IdempotencyStore.IdempotencyKey;
import dev.sluice.core.port.IdempotencyStore.UsedKey;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.core.port.Spool.AppendResult;
import java.time.Instant;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The contract of {@link AppendResolver}. Each test has an empty spool. */
@Timeout(60)
public abstract class AppendResolverContract {
  private static final IdempotencyKey KEY =
      new IdempotencyKey("default", "order-1", new UUID(1, 2));
  private static final IdempotencyKey OTHER_REQUEST =
      new IdempotencyKey("default", "order-1", new UUID(7, 7));

  protected abstract Spool spool();

  protected abstract IdempotencyStore idempotencyStore();

  protected abstract AppendResolver resolver();

  @Test
  void resolve_acceptedBatches_areKnownWithTheirReceipts() throws Exception {
    var batch = LogBatches.of(3);
    var keyed = LogBatches.of(2);
    var receipt = accepted(append(batch));
    var keyedReceipt = accepted(append(keyed, claimGranted(KEY)));

    assertThat(resolve(batch)).isEqualTo(new ResolveResult.Known(receipt));
    assertThat(resolve(keyed)).isEqualTo(new ResolveResult.Known(keyedReceipt));
    assertThat(accepted(append(batch))).isEqualTo(receipt);
    SpoolContract.assertRecords(spool(), 5, 5);
  }

  @Test
  void resolve_unknownBatch_isRefusedFromThenOn() throws Exception {
    var batch = LogBatches.of(3);

    assertThat(resolve(batch)).isEqualTo(new ResolveResult.Refused());

    assertThat(append(batch)).isEqualTo(new AppendResult.Refused());
    assertThat(resolve(batch)).isEqualTo(new ResolveResult.Refused());
    SpoolContract.assertRecords(spool(), 0, 0);
    accepted(append(LogBatches.of(1)));
  }

  @Test
  void resolve_unknownBatchUnderAClaim_isRefusedAndTheClaimStays() throws Exception {
    var claim = claimGranted(KEY);
    var batch = LogBatches.of(3);

    assertThat(resolve(batch)).isEqualTo(new ResolveResult.Refused());

    assertThat(append(batch, claim)).isEqualTo(new AppendResult.Refused());
    assertThat(claim(KEY)).isEqualTo(new ClaimResult.InProgress());
    SpoolContract.assertRecords(spool(), 0, 0);
    accepted(append(LogBatches.of(1), claim));
  }

  @Test
  void completeKey_unusedKey_isCompleted() throws Exception {
    assertThat(completeKey(KEY)).isEqualTo(new ClaimResult.Completed());

    assertThat(completeKey(KEY)).isEqualTo(new ClaimResult.Completed());
    assertThat(claim(KEY)).isEqualTo(new ClaimResult.Completed());
    assertThat(claim(OTHER_REQUEST)).isEqualTo(new ClaimResult.IdempotencyKeyReused());
  }

  @Test
  void completeKey_claimedKey_endsTheClaim() throws Exception {
    var claim = claimGranted(KEY);

    assertThat(completeKey(KEY)).isEqualTo(new ClaimResult.Completed());

    assertThat(append(LogBatches.of(1), claim)).isEqualTo(new AppendResult.ClaimLost());
    assertThat(claim(KEY)).isEqualTo(new ClaimResult.Completed());
  }

  @Test
  void completeKey_keyUsedByAnotherRequest_isUnchanged() throws Exception {
    accepted(append(LogBatches.of(1), claimGranted(OTHER_REQUEST)));

    assertThat(completeKey(KEY)).isEqualTo(new ClaimResult.IdempotencyKeyReused());

    assertThat(claim(OTHER_REQUEST)).isEqualTo(new ClaimResult.Completed());
  }

  private ResolveResult resolve(LogBatch batch) throws Exception {
    return resolver().resolve(batch.appendId()).toCompletableFuture().get(30, SECONDS);
  }

  private ClaimResult completeKey(IdempotencyKey key) throws Exception {
    return resolver()
        .completeKey(new UsedKey(key.digest(), key.requestDigest(), Instant.now()))
        .toCompletableFuture()
        .get(30, SECONDS);
  }

  private ClaimResult claim(IdempotencyKey key) throws Exception {
    return idempotencyStore().claim(key).toCompletableFuture().get(30, SECONDS);
  }

  private Claim claimGranted(IdempotencyKey key) throws Exception {
    var claimResult = claim(key);
    assertThat(claimResult).isInstanceOf(ClaimResult.Granted.class);
    return ((ClaimResult.Granted) claimResult).claim();
  }

  private AppendResult append(LogBatch batch) throws Exception {
    return spool().append(batch, AppendMode.SYNC).toCompletableFuture().get(30, SECONDS);
  }

  private AppendResult append(LogBatch batch, Claim claim) throws Exception {
    return idempotencyStore()
        .append(batch, claim, AppendMode.SYNC)
        .toCompletableFuture()
        .get(30, SECONDS);
  }

  private static Spool.Receipt accepted(AppendResult appendResult) {
    assertThat(appendResult).isInstanceOf(AppendResult.Accepted.class);
    return ((AppendResult.Accepted) appendResult).receipt();
  }
}
