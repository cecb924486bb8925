package dev.sluice.wal;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.port.IdempotencyKeys;
import dev.sluice.core.port.IdempotencyKeys.Claimed;
import dev.sluice.core.port.Spool;
import dev.sluice.testkit.IdempotencyKeysContract;
import dev.sluice.testkit.LogBatches;
import java.io.IOException;
import java.time.Duration;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class WalIdempotencyKeysTest extends IdempotencyKeysContract {
  @RegisterExtension final WalFixture wal;

  WalIdempotencyKeysTest() throws IOException {
    wal = new WalFixture(Compression.ZSTD);
  }

  @Override
  protected IdempotencyKeys keys() {
    return wal.spool();
  }

  @Override
  protected Spool spool() {
    return wal.spool();
  }

  @Test
  void claim_takenBeforeAKill_isTakenWhetherSettledOrNot() throws Exception {
    append(LogBatches.of(3), mine(KEY));

    wal.kill();
    assertThat(claim(KEY)).isEqualTo(new Claimed.Taken());

    var deliveries = wal.deliveries();
    deliveries.settle(deliveries.next(Duration.ofSeconds(5)).orElseThrow());
    wal.kill();
    assertThat(claim(KEY)).isEqualTo(new Claimed.Taken());
  }

  @Test
  void taken_keysOfEveryKind_tellsOfThoseTakenAndClaimsNothing() throws Exception {
    assertThat(wal.spool().taken(KEY)).isEmpty();
    var claim = mine(KEY);
    assertThat(wal.spool().taken(KEY)).isEmpty();
    append(LogBatches.of(3), claim);
    wal.kill();

    assertThat(wal.spool().taken(KEY)).contains(new Claimed.Taken());
    var other = new IdempotencyKeys.Key(KEY.tenant(), KEY.key(), new UUID(7, 7));
    assertThat(wal.spool().taken(other)).contains(new Claimed.Another());
  }

  @Test
  void claim_claimedBeforeAKill_isFree() throws Exception {
    mine(KEY);

    wal.kill();

    mine(KEY);
  }
}
