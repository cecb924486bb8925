package dev.sluice.wal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.IdempotencyStore.ClaimResult;
import dev.sluice.core.port.Spool;
import dev.sluice.testkit.IdempotencyStoreContract;
import dev.sluice.testkit.LogBatches;
import java.io.IOException;
import java.time.Duration;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class WalIdempotencyStoreTest extends IdempotencyStoreContract {
  @RegisterExtension final WalFixture wal;

  WalIdempotencyStoreTest() throws IOException {
    wal = new WalFixture(Compression.ZSTD);
  }

  @Override
  protected IdempotencyStore idempotencyStore() {
    return wal.spool();
  }

  @Override
  protected Spool spool() {
    return wal.spool();
  }

  @Test
  void claim_completedBeforeAKill_isCompletedWhetherAckedOrNot() throws Exception {
    append(LogBatches.of(3), claimGranted(KEY));

    wal.kill();
    assertThat(claim(KEY)).isEqualTo(new ClaimResult.Completed());

    var consumer = wal.newConsumer();
    consumer.ack(consumer.poll(Duration.ofSeconds(5), Duration.ZERO).orElseThrow());
    wal.kill();
    assertThat(claim(KEY)).isEqualTo(new ClaimResult.Completed());
  }

  @Test
  void cachedResult_keysOfEveryKind_returnsOnlyCompletedAndClaimsNothing() throws Exception {
    assertThat(wal.spool().cachedResult(KEY)).isEmpty();
    var claim = claimGranted(KEY);
    assertThat(wal.spool().cachedResult(KEY)).isEmpty();
    append(LogBatches.of(3), claim);
    wal.kill();

    assertThat(wal.spool().cachedResult(KEY)).contains(new ClaimResult.Completed());
    var other = new IdempotencyStore.IdempotencyKey(KEY.tenant(), KEY.key(), new UUID(7, 7));
    assertThat(wal.spool().cachedResult(other)).contains(new ClaimResult.IdempotencyKeyReused());
  }

  @Test
  void claim_claimedBeforeAKill_isGranted() throws Exception {
    claimGranted(KEY);

    wal.kill();

    claimGranted(KEY);
  }
}
