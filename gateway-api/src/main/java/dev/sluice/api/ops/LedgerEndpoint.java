package dev.sluice.api.ops;

import dev.sluice.core.ledger.Ledger;
import java.time.LocalDate;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** The endpoint {@code /actuator/ledger}: the balance of the logs accepted in the last days. */
@Endpoint(id = "ledger")
public final class LedgerEndpoint {
  private final Ledger ledger;

  public LedgerEndpoint(Ledger ledger) {
    this.ledger = ledger;
  }

  /**
   * The response of the endpoint. The counts are read one after the other and need not add up while
   * logs are in flight; {@code imbalance} takes that into account. All counts are log records.
   *
   * @param firstDay the first receive day that is counted (UTC)
   * @param accepted records accepted into the spool; null while the spool is unavailable
   * @param inFlight accepted records that are in the spool; null while the spool is unavailable
   * @param stored accepted records that are in the log table; null while the store is unavailable
   * @param deadLettered accepted records that are open dead letters; null while the store is
   *     unavailable
   * @param purged accepted records that became dead letters and were purged; null while the store
   *     is unavailable
   * @param quarantined accepted records in damaged entries, which are in quarantine; null while the
   *     spool is unavailable
   * @param imbalance the sum of the imbalances of the days without their signs; null while a count
   *     is unknown
   * @param days the counts of each day
   * @param unavailableSources the error of each source that is unavailable, by its name; empty when
   *     all counts are known
   */
  public record LedgerResponse(
      LocalDate firstDay,
      @Nullable Long accepted,
      @Nullable Long inFlight,
      @Nullable Long stored,
      @Nullable Long deadLettered,
      @Nullable Long purged,
      @Nullable Long quarantined,
      @Nullable Long imbalance,
      List<Day> days,
      Map<String, String> unavailableSources) {}

  /**
   * The counts of one receive day.
   *
   * @param imbalance the number of missing records; below 0 the number of surplus records
   */
  public record Day(
      LocalDate day,
      @Nullable Long accepted,
      @Nullable Long inFlight,
      @Nullable Long stored,
      @Nullable Long deadLettered,
      @Nullable Long purged,
      @Nullable Long quarantined,
      @Nullable Long imbalance) {}

  /** Responds 200 with all counts, or 503 with the known ones. */
  @ReadOperation
  public Mono<WebEndpointResponse<LedgerResponse>> ledger() {
    return Mono.fromCallable(this::response).subscribeOn(Schedulers.boundedElastic());
  }

  private WebEndpointResponse<LedgerResponse> response() {
    var report = ledger.count();
    var total = day(report.from(), report.total());
    return new WebEndpointResponse<>(
        new LedgerResponse(
            report.from(),
            total.accepted(),
            total.inFlight(),
            total.stored(),
            total.deadLettered(),
            total.purged(),
            total.quarantined(),
            total.imbalance(),
            report.days().entrySet().stream()
                .map(entry -> day(entry.getKey(), entry.getValue()))
                .toList(),
            report.unavailable()),
        report.unavailable().isEmpty()
            ? WebEndpointResponse.STATUS_OK
            : WebEndpointResponse.STATUS_SERVICE_UNAVAILABLE);
  }

  private static Day day(LocalDate day, Ledger.LedgerBalance ledgerBalance) {
    var spool = ledgerBalance.spool();
    var deadLetters = ledgerBalance.deadLetters();
    return new Day(
        day,
        spool == null ? null : spool.accepted(),
        spool == null ? null : spool.inFlight(),
        ledgerBalance.stored(),
        deadLetters == null ? null : deadLetters.open(),
        deadLetters == null ? null : deadLetters.purged(),
        spool == null ? null : spool.quarantined(),
        ledgerBalance.imbalance());
  }
}
