package dev.sluice.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.AppendResult;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;

class InMemoryIdempotencyStoreTest extends IdempotencyStoreContract {
  Instant now = Instant.EPOCH;
  final InMemorySpool spool = new InMemorySpool(1_000, 1 << 20, () -> now);

  @Override
  protected IdempotencyStore idempotencyStore() {
    return spool;
  }

  @Override
  protected Spool spool() {
    return spool;
  }

  @Test
  void claim_expiredClaim_isGrantedAndTheOldOneIsLost() throws Exception {
    var old = claimGranted(KEY);
    now = now.plus(Duration.ofMinutes(1));

    var claim = claimGranted(KEY);

    assertThat(append(LogBatches.of(1), old)).isEqualTo(new AppendResult.ClaimLost());
    assertThat(append(LogBatches.of(1), claim)).isInstanceOf(AppendResult.Accepted.class);
  }
}
