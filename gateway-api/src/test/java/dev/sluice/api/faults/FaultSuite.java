package dev.sluice.api.faults;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import dev.sluice.api.faults.Fault.Round;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;
import org.springframework.util.FileSystemUtils;

/**
 * The program of {@code make faults}: injects all faults under load and counts the logs.
 *
 * <p>The arguments are names of faults; without arguments, all faults run. {@code ROUNDS} in the
 * environment limits the rounds of each fault, {@code SEED} repeats the random moments of an
 * earlier run. The exit status is 1 when a log was lost or duplicated, when a fault did not happen,
 * or when the gateway did not recover.
 */
public final class FaultSuite {
  private static final String ROW_FORMAT = "%-24s %6s %12s %9s %5s %5s %10s %8s %7s  %s%n";

  private FaultSuite() {}

  /** Returns all faults, in the order in which they run. */
  static List<Fault> all() {
    return Stream.of(
            ProcessFaults.all(),
            SpoolFaults.all(),
            StoreFaults.all(),
            FailoverFaults.all(),
            WalFaults.all())
        .flatMap(List::stream)
        .toList();
  }

  static Fault byName(String name) {
    return all().stream()
        .filter(fault -> fault.name().equals(name))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "no fault has the name %s; the faults are %s"
                        .formatted(
                            name,
                            all().stream().map(Fault::name).collect(Collectors.joining(", ")))));
  }

  /**
   * The result of one fault.
   *
   * @param fault the fault
   * @param rounds the number of finished rounds
   * @param evidence the evidence of the fault, with the number of its rounds
   * @param count the counts of logs after the last round
   * @param longest the longest recovery time
   * @param peakKiB the peak memory of a gateway in KiB
   * @param failures the reasons why the fault fails the suite; empty when it passes
   */
  record FaultResult(
      Fault fault,
      int rounds,
      Map<String, Integer> evidence,
      TestSite.LogCounts count,
      Duration longest,
      long peakKiB,
      List<String> failures) {
    boolean passed() {
      return failures.isEmpty() && count.lost() == 0 && count.duplicated() == 0;
    }

    private void printRow() {
      System.out.printf(
          ROW_FORMAT,
          fault.name(),
          rounds,
          count.acknowledged(),
          count.stored(),
          count.deadLettered(),
          count.lost(),
          count.duplicated(),
          "%.1f s".formatted(longest.toMillis() / 1e3),
          peakKiB / 1024 + " MB",
          evidence.entrySet().stream()
              .map(entry -> entry.getValue() + " x " + entry.getKey())
              .collect(Collectors.joining("; ")));
      failures.forEach(failure -> System.out.println("    ! " + failure));
    }
  }

  /**
   * Runs the faults and exits.
   *
   * @param arguments the names of faults
   */
  public static void main(String[] arguments) {
    ((Logger) LoggerFactory.getLogger(Logger.ROOT_LOGGER_NAME)).setLevel(Level.ERROR);
    long seed =
        Long.parseLong(orDefault(System.getenv("SEED"), "" + System.nanoTime() % 1_000_000));
    int maxRounds = Integer.parseInt(orDefault(System.getenv("ROUNDS"), "1000"));
    var faults = selectFaults(arguments);
    System.out.println("seed " + seed + " (SEED=" + seed + " repeats the same random moments)");
    System.out.printf(
        ROW_FORMAT,
        "fault",
        "rounds",
        "acknowledged",
        "stored",
        "dead",
        "lost",
        "duplicated",
        "recovery",
        "memory",
        "evidence");
    long start = System.nanoTime();
    var results = new ArrayList<FaultResult>();
    for (var fault : faults) {
      var result = run(fault, Math.min(maxRounds, fault.rounds()), seed, Path.of("target/faults"));
      result.printRow();
      results.add(result);
    }
    long failed = results.stream().filter(result -> !result.passed()).count();
    System.out.printf(
        "%d faults in %d rounds, %d logs acknowledged, %d lost, %d duplicated; %s, after %d s%n",
        results.size(),
        results.stream().mapToInt(FaultResult::rounds).sum(),
        results.stream().mapToLong(result -> result.count().acknowledged()).sum(),
        results.stream().mapToLong(result -> result.count().lost()).sum(),
        results.stream().mapToLong(result -> result.count().duplicated()).sum(),
        failed == 0 ? "all faults passed" : failed + " faults FAILED",
        Duration.ofNanos(System.nanoTime() - start).toSeconds());
    System.exit(failed == 0 ? 0 : 1);
  }

  private static List<Fault> selectFaults(String[] names) {
    try {
      return names.length == 0 ? all() : Stream.of(names).map(FaultSuite::byName).toList();
    } catch (IllegalArgumentException e) {
      System.err.println(e.getMessage());
      System.exit(2);
      throw e;
    }
  }

  private static String orDefault(@Nullable String value, String otherwise) {
    return value == null || value.isBlank() ? otherwise : value;
  }

  /** Runs all rounds of one fault on one site. The first failed round is the last. */
  static FaultResult run(Fault fault, int rounds, long seed, Path folder) {
    var random = new Random(seed ^ fault.name().hashCode());
    var run = "r" + Long.toHexString(System.nanoTime());
    var logSequence = new LogSequence(run, seed);
    var evidence = new LinkedHashMap<String, Integer>();
    var failures = new ArrayList<String>();
    var count = new TestSite.LogCounts(0, 0, 0, 0, 0);
    var longest = Duration.ZERO;
    long peak = 0;
    int done = 0;
    var siteFolder = folder.resolve(fault.name() + "-" + run);
    try (var site = new TestSite(fault.plan(), siteFolder, logSequence)) {
      while (done < rounds && failures.isEmpty()) {
        done++;
        try (var workload = Workload.start(logSequence, site.uris(), fault.plan().loadProfile())) {
          workload.mark();
          var observed = fault.injection().run(new Round(site, workload, random));
          evidence.merge(observed, 1, Integer::sum);
          longest = max(longest, awaitRecovery(fault, site, workload));
          workload.unexpectedResponses().forEach(failures::add);
        } catch (Exception e) {
          failures.add("round %d: %s".formatted(done, e));
          site.revive();
        }
        failures.addAll(site.fatalErrors());
        count = site.count();
        if (count.lost() > 0 || count.duplicated() > 0) {
          failures.add(
              "round %d: %d lost, %d duplicated".formatted(done, count.lost(), count.duplicated()));
        }
      }
      peak = site.peakKiB();
    } catch (IOException | InterruptedException | RuntimeException e) {
      failures.add(e.toString());
    }
    var result = new FaultResult(fault, done, evidence, count, longest, peak, failures);
    if (result.passed()) {
      deleteQuietly(siteFolder);
    }
    return result;
  }

  /** Deletes the directory of a passed fault; a failed fault keeps its directory for analysis. */
  private static void deleteQuietly(Path place) {
    try {
      FileSystemUtils.deleteRecursively(place);
    } catch (IOException e) {
      System.err.println("cannot delete the test directory: " + e);
    }
  }

  /**
   * Returns the time from the end of the fault until a new request is acknowledged and the spool is
   * empty.
   */
  private static Duration awaitRecovery(Fault fault, TestSite site, Workload workload)
      throws Exception {
    var acknowledged = workload.awaitRecovery(fault.recoveryTimeout());
    workload.stop();
    site.awaitDrained(fault.recoveryTimeout());
    var drained = workload.sinceMark();
    site.gateways().forEach(GatewayUnderTest::recordPeakMemory);
    return max(acknowledged, drained);
  }

  private static Duration max(Duration one, Duration other) {
    return one.compareTo(other) > 0 ? one : other;
  }
}
