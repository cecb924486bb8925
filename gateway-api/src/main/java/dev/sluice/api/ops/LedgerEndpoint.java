package dev.sluice.api.ops;

import dev.sluice.core.port.LogStore;
import dev.sluice.core.port.Spool;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
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
   * @param accepted log records ever accepted into the spool; null while the spool is away
   * @param inFlight of those, in the spool now; null while the spool is away
   * @param stored rows in the log table; null while the store is away
   * @param imbalance accepted - inFlight - stored; null while one of them is not known
   * @param away who could not be asked, and why; empty when all answered
   */
  public record Ledger(
      @Nullable Long accepted,
      @Nullable Long inFlight,
      @Nullable Long stored,
      @Nullable Long imbalance,
      Map<String, String> away) {}

  /** 200 with all figures, or 503 with those that are known. */
  @ReadOperation
  public Mono<WebEndpointResponse<Ledger>> ledger() {
    return Mono.fromCallable(this::count).subscribeOn(Schedulers.boundedElastic());
  }

  private WebEndpointResponse<Ledger> count() {
    var away = new LinkedHashMap<String, String>();
    var tally = ask("spool", spool::tally, away);
    var stored = ask("store", store::stored, away);
    var ledger =
        new Ledger(
            tally == null ? null : tally.accepted(),
            tally == null ? null : tally.inFlight(),
            stored,
            tally == null || stored == null ? null : tally.accepted() - tally.inFlight() - stored,
            away);
    return new WebEndpointResponse<>(
        ledger,
        away.isEmpty()
            ? WebEndpointResponse.STATUS_OK
            : WebEndpointResponse.STATUS_SERVICE_UNAVAILABLE);
  }

  private static <T> @Nullable T ask(String whom, Supplier<T> question, Map<String, String> away) {
    try {
      return question.get();
    } catch (RuntimeException e) {
      away.put(whom, String.valueOf(e.getMessage()));
      return null;
    }
  }
}
