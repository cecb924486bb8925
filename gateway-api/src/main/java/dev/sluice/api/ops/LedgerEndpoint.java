package dev.sluice.api.ops;

import dev.sluice.core.port.LogStore;
import dev.sluice.core.port.Spool;
import java.util.concurrent.Callable;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/**
 * {@code /actuator/ledger}: where every accepted log is. Each figure is counted where it lives,
 * none is the difference of the others, so {@code imbalance} can differ from 0 and then means
 * trouble.
 *
 * <p>The counts are taken one after the other: under load they are some milliseconds apart and the
 * imbalance is not 0 for a moment. At rest it is.
 */
@Endpoint(id = "ledger")
public final class LedgerEndpoint {
  private final Spool spool;
  private final LogStore store;

  public LedgerEndpoint(Spool spool, LogStore store) {
    this.spool = spool;
    this.store = store;
  }

  /**
   * @param accepted log records ever accepted into the spool
   * @param inFlight of those, in the spool now
   * @param stored rows in the log table
   * @param imbalance accepted - inFlight - stored
   */
  public record Ledger(long accepted, long inFlight, long stored, long imbalance) {}

  @ReadOperation
  public Mono<Ledger> ledger() {
    Callable<Ledger> count =
        () -> {
          var tally = spool.tally();
          long stored = store.stored();
          return new Ledger(
              tally.accepted(),
              tally.inFlight(),
              stored,
              tally.accepted() - tally.inFlight() - stored);
        };
    return Mono.fromCallable(count).subscribeOn(Schedulers.boundedElastic());
  }
}
