package dev.sluice.testkit;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.IdempotencyKeys;
import dev.sluice.core.port.IdempotencyKeys.Claim;
import dev.sluice.core.port.IdempotencyKeys.Claimed;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.Appended;
import dev.sluice.core.port.Spool.Tally;
import java.util.UUID;
import java.util.concurrent.CompletionStage;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What all {@link IdempotencyKeys} keep to. Each test begins with an empty spool. */
@Timeout(60)
public abstract class IdempotencyKeysContract {
  protected static final IdempotencyKeys.Key KEY =
      new IdempotencyKeys.Key("default", "order-1", new UUID(1, 2));
  private static final IdempotencyKeys.Key OTHER_REQUEST =
      new IdempotencyKeys.Key("default", "order-1", new UUID(1, 3));

  protected abstract IdempotencyKeys keys();

  /** The spool behind the keys. */
  protected abstract Spool spool();

  @Test
  void claim_again_isUnderWayOrAnothers() throws Exception {
    mine(KEY);

    assertThat(claim(KEY)).isEqualTo(new Claimed.UnderWay());
    assertThat(claim(OTHER_REQUEST)).isEqualTo(new Claimed.Another());
  }

  @Test
  void claim_sameKeyOfAnotherTenant_isItsOwn() throws Exception {
    mine(KEY);

    mine(new IdempotencyKeys.Key("other", KEY.key(), KEY.request()));
    mine(new IdempotencyKeys.Key("defaultorder", "-1", KEY.request()));
  }

  @Test
  void claim_manyAtOnce_oneIsMine() throws Exception {
    var claims = IntStream.range(0, 50).mapToObj(_ -> keys().claim(KEY)).toList();

    int mine = 0;
    for (var claim : claims) {
      mine += get(claim) instanceof Claimed.Mine ? 1 : 0;
    }

    assertThat(mine).isEqualTo(1);
  }

  @Test
  void append_underClaim_takesTheKey() throws Exception {
    var claim = mine(KEY);

    assertThat(append(LogBatches.of(3), claim)).isInstanceOf(Appended.Accepted.class);

    assertThat(claim(KEY)).isEqualTo(new Claimed.Taken());
    assertThat(claim(OTHER_REQUEST)).isEqualTo(new Claimed.Another());
    assertThat(spool().tally()).isEqualTo(new Tally(3, 3, 0, 0, 0));
  }

  @Test
  void append_sameBatchUnderItsClaimAgain_isAcceptedOnce() throws Exception {
    var claim = mine(KEY);
    var batch = LogBatches.of(3);
    var first = append(batch, claim);

    assertThat(append(batch, claim)).isEqualTo(first);

    assertThat(spool().tally()).isEqualTo(new Tally(3, 3, 0, 0, 0));
  }

  @Test
  void append_claimTakenByAnotherBatch_isSuperseded() throws Exception {
    var claim = mine(KEY);
    append(LogBatches.of(3), claim);

    assertThat(append(LogBatches.of(4), claim)).isEqualTo(new Appended.Superseded());

    assertThat(spool().tally()).isEqualTo(new Tally(3, 3, 0, 0, 0));
  }

  @Test
  void append_claimOfAnother_isSupersededAndAppendsNothing() throws Exception {
    var old = mine(KEY);
    get(keys().release(old));
    assertThat(append(LogBatches.of(3), old)).isEqualTo(new Appended.Superseded());
    var claim = mine(KEY);

    assertThat(append(LogBatches.of(3), old)).isEqualTo(new Appended.Superseded());

    assertThat(spool().tally()).isEqualTo(Tally.NONE);
    assertThat(append(LogBatches.of(3), claim)).isInstanceOf(Appended.Accepted.class);
  }

  @Test
  void release_claim_isAsIfTheKeyWereNew() throws Exception {
    get(keys().release(mine(KEY)));

    mine(OTHER_REQUEST);
  }

  @Test
  void release_claimOfAnotherOrTaken_changesNothing() throws Exception {
    var old = mine(KEY);
    get(keys().release(old));
    var claim = mine(KEY);

    get(keys().release(old));
    assertThat(claim(KEY)).isEqualTo(new Claimed.UnderWay());

    append(LogBatches.of(1), claim);
    get(keys().release(claim));
    assertThat(claim(KEY)).isEqualTo(new Claimed.Taken());
  }

  protected final Claim mine(IdempotencyKeys.Key key) throws Exception {
    var claimed = claim(key);
    assertThat(claimed).isInstanceOf(Claimed.Mine.class);
    return ((Claimed.Mine) claimed).claim();
  }

  protected final Claimed claim(IdempotencyKeys.Key key) throws Exception {
    return get(keys().claim(key));
  }

  protected final Appended append(LogBatch batch, Claim claim) throws Exception {
    return get(keys().append(batch, claim));
  }

  private static <T> T get(CompletionStage<T> stage) throws Exception {
    return stage.toCompletableFuture().get(30, SECONDS);
  }
}
