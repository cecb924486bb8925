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

/** {@code /actuator/ledger}: where every log is that was accepted in the last days. */
@Endpoint(id = "ledger")
public final class LedgerEndpoint {
  private final Ledger ledger;

  public LedgerEndpoint(Ledger ledger) {
    this.ledger = ledger;
  }

  /**
   * The figures are taken one after the other and need not add up while logs are on their way;
   * {@code imbalance} takes that into account.
   *
   * @param from first day of receipt that is counted (UTC)
   * @param accepted log records accepted into the spool; null while the spool is away
   * @param inFlight of those, in the spool now; null while the spool is away
   * @param stored of those, in the log table; null while the store is away
   * @param deadLettered of those, refused by the store and kept; null while the spool is away
   * @param purged of those, dead letters that were thrown away; null while the spool is away
   * @param quarantined of those, in damaged entries that were put aside; null while the spool is
   *     away
   * @param imbalance records that are missing or too many; null while one of the figures is not
   *     known
   * @param days the same, day by day
   * @param away who could not be asked, and why; empty when all answered
   */
  public record LedgerResponse(
      LocalDate from,
      @Nullable Long accepted,
      @Nullable Long inFlight,
      @Nullable Long stored,
      @Nullable Long deadLettered,
      @Nullable Long purged,
      @Nullable Long quarantined,
      @Nullable Long imbalance,
      List<Day> days,
      Map<String, String> away) {}

  /**
   * @param imbalance records that are missing; less than 0 when there are too many
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

  /** 200 with all figures, or 503 with those that are known. */
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
    return spool == null
        ? new Day(
            day, null, null, ledgerBalance.stored(), null, null, null, ledgerBalance.imbalance())
        : new Day(
            day,
            spool.accepted(),
            spool.inFlight(),
            ledgerBalance.stored(),
            spool.deadLettered(),
            spool.purged(),
            spool.quarantined(),
            ledgerBalance.imbalance());
  }
}
