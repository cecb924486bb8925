package dev.sluice.testkit;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.IdempotencyStore.Claim;
import dev.sluice.core.port.IdempotencyStore.ClaimResult;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.core.port.Spool.AppendResult;
import java.util.UUID;
import java.util.concurrent.CompletionStage;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The contract of all {@link IdempotencyStore} implementations. Each test begins with an empty
 * spool.
 */
@Timeout(60)
public abstract class IdempotencyStoreContract {
  protected static final IdempotencyStore.IdempotencyKey KEY =
      new IdempotencyStore.IdempotencyKey("default", "order-1", new UUID(1, 2));
  private static final IdempotencyStore.IdempotencyKey OTHER_REQUEST =
      new IdempotencyStore.IdempotencyKey("default", "order-1", new UUID(1, 3));

  protected abstract IdempotencyStore idempotencyStore();

  /** Returns the spool that stores the keys. */
  protected abstract Spool spool();

  @Test
  void claim_claimedKey_isInProgressOrKeyReused() throws Exception {
    claimGranted(KEY);

    assertThat(claim(KEY)).isEqualTo(new ClaimResult.InProgress());
    assertThat(claim(OTHER_REQUEST)).isEqualTo(new ClaimResult.IdempotencyKeyReused());
  }

  @Test
  void claim_sameKeyOfAnotherTenant_isIndependent() throws Exception {
    claimGranted(KEY);

    claimGranted(new IdempotencyStore.IdempotencyKey("other", KEY.key(), KEY.requestDigest()));
    claimGranted(new IdempotencyStore.IdempotencyKey("defaultorder", "-1", KEY.requestDigest()));
  }

  @Test
  void claim_manyConcurrently_oneIsGranted() throws Exception {
    var claims = IntStream.range(0, 50).mapToObj(_ -> idempotencyStore().claim(KEY)).toList();

    int granted = 0;
    for (var claim : claims) {
      granted += get(claim) instanceof ClaimResult.Granted ? 1 : 0;
    }

    assertThat(granted).isEqualTo(1);
  }

  @Test
  void append_underClaim_completesTheKey() throws Exception {
    var claim = claimGranted(KEY);

    assertThat(append(LogBatches.of(3), claim)).isInstanceOf(AppendResult.Accepted.class);

    assertThat(claim(KEY)).isEqualTo(new ClaimResult.Completed());
    assertThat(claim(OTHER_REQUEST)).isEqualTo(new ClaimResult.IdempotencyKeyReused());
    SpoolContract.assertRecords(spool(), 3, 3);
  }

  @Test
  void append_sameBatchUnderItsClaimTwice_isAcceptedOnce() throws Exception {
    var claim = claimGranted(KEY);
    var batch = LogBatches.of(3);
    var first = append(batch, claim);

    assertThat(append(batch, claim)).isEqualTo(first);

    SpoolContract.assertRecords(spool(), 3, 3);
  }

  @Test
  void append_claimUsedByAnotherBatch_isClaimLost() throws Exception {
    var claim = claimGranted(KEY);
    append(LogBatches.of(3), claim);

    assertThat(append(LogBatches.of(4), claim)).isEqualTo(new AppendResult.ClaimLost());

    SpoolContract.assertRecords(spool(), 3, 3);
  }

  @Test
  void append_releasedClaim_isClaimLostAndAppendsNothing() throws Exception {
    var old = claimGranted(KEY);
    get(idempotencyStore().release(old));
    assertThat(append(LogBatches.of(3), old)).isEqualTo(new AppendResult.ClaimLost());
    var claim = claimGranted(KEY);

    assertThat(append(LogBatches.of(3), old)).isEqualTo(new AppendResult.ClaimLost());

    SpoolContract.assertRecords(spool(), 0, 0);
    assertThat(append(LogBatches.of(3), claim)).isInstanceOf(AppendResult.Accepted.class);
  }

  @Test
  void release_claim_freesTheKey() throws Exception {
    get(idempotencyStore().release(claimGranted(KEY)));

    claimGranted(OTHER_REQUEST);
  }

  @Test
  void release_lostOrCompletedClaim_changesNothing() throws Exception {
    var old = claimGranted(KEY);
    get(idempotencyStore().release(old));
    var claim = claimGranted(KEY);

    get(idempotencyStore().release(old));
    assertThat(claim(KEY)).isEqualTo(new ClaimResult.InProgress());

    append(LogBatches.of(1), claim);
    get(idempotencyStore().release(claim));
    assertThat(claim(KEY)).isEqualTo(new ClaimResult.Completed());
  }

  protected final Claim claimGranted(IdempotencyStore.IdempotencyKey key) throws Exception {
    var claimResult = claim(key);
    assertThat(claimResult).isInstanceOf(ClaimResult.Granted.class);
    return ((ClaimResult.Granted) claimResult).claim();
  }

  protected final ClaimResult claim(IdempotencyStore.IdempotencyKey key) throws Exception {
    return get(idempotencyStore().claim(key));
  }

  protected final AppendResult append(LogBatch batch, Claim claim) throws Exception {
    return get(idempotencyStore().append(batch, claim, AppendMode.SYNC));
  }

  private static <T> T get(CompletionStage<T> stage) throws Exception {
    return stage.toCompletableFuture().get(30, SECONDS);
  }
}
