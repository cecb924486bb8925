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
 * {@code make faults}: makes everything fail that can, under load, and counts the logs.
 *
 * <p>Arguments are names of rows, all when there is none; {@code ROUNDS} in the environment bounds
 * the rounds of each, {@code SEED} repeats the random moments of an earlier run. Exits with 1 when
 * a log was lost or doubled, when a fault did not happen, or when the gateway did not recover.
 */
public final class Faults {
  private static final String LINE = "%-24s %6s %12s %9s %5s %5s %7s %8s %7s  %s%n";

  private Faults() {}

  /** All rows, in the order in which they run. */
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

  static Fault named(String name) {
    return all().stream()
        .filter(fault -> fault.name().equals(name))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "no row is called %s; there are %s"
                        .formatted(
                            name,
                            all().stream().map(Fault::name).collect(Collectors.joining(", ")))));
  }

  /**
   * What came of a row.
   *
   * @param rounds that were done
   * @param proofs what proves the fault, and in how many rounds it did
   * @param longest time to recover
   * @param peakKiB most memory of a gateway
   * @param troubles why the row fails; empty when it does not
   */
  record Result(
      Fault fault,
      int rounds,
      Map<String, Integer> proofs,
      Site.Count count,
      Duration longest,
      long peakKiB,
      List<String> troubles) {
    boolean good() {
      return troubles.isEmpty() && count.lost() == 0 && count.doubled() == 0;
    }

    private void print() {
      System.out.printf(
          LINE,
          fault.name(),
          rounds,
          count.acknowledged(),
          count.stored(),
          count.deadLettered(),
          count.lost(),
          count.doubled(),
          "%.1f s".formatted(longest.toMillis() / 1e3),
          peakKiB / 1024 + " MB",
          proofs.entrySet().stream()
              .map(proof -> proof.getValue() + " x " + proof.getKey())
              .collect(Collectors.joining("; ")));
      troubles.forEach(trouble -> System.out.println("    ! " + trouble));
    }
  }

  /**
   * @param arguments names of rows
   */
  public static void main(String[] arguments) {
    ((Logger) LoggerFactory.getLogger(Logger.ROOT_LOGGER_NAME)).setLevel(Level.ERROR);
    long seed =
        Long.parseLong(otherwise(System.getenv("SEED"), "" + System.nanoTime() % 1_000_000));
    int most = Integer.parseInt(otherwise(System.getenv("ROUNDS"), "1000"));
    var faults = chosen(arguments);
    System.out.println("seed " + seed + " (SEED=" + seed + " for the same moments again)");
    System.out.printf(
        LINE,
        "fault",
        "rounds",
        "acknowledged",
        "stored",
        "dead",
        "lost",
        "doubled",
        "recovery",
        "memory",
        "proof");
    long begun = System.nanoTime();
    var results = new ArrayList<Result>();
    for (var fault : faults) {
      var result = run(fault, Math.min(most, fault.rounds()), seed, Path.of("target/faults"));
      result.print();
      results.add(result);
    }
    long bad = results.stream().filter(result -> !result.good()).count();
    System.out.printf(
        "%d faults in %d rounds, %d logs acknowledged, %d lost, %d doubled; %s, after %d s%n",
        results.size(),
        results.stream().mapToInt(Result::rounds).sum(),
        results.stream().mapToLong(result -> result.count().acknowledged()).sum(),
        results.stream().mapToLong(result -> result.count().lost()).sum(),
        results.stream().mapToLong(result -> result.count().doubled()).sum(),
        bad == 0 ? "all is well" : bad + " rows FAILED",
        Duration.ofNanos(System.nanoTime() - begun).toSeconds());
    System.exit(bad == 0 ? 0 : 1);
  }

  private static List<Fault> chosen(String[] names) {
    try {
      return names.length == 0 ? all() : Stream.of(names).map(Faults::named).toList();
    } catch (IllegalArgumentException e) {
      System.err.println(e.getMessage());
      System.exit(2);
      throw e;
    }
  }

  private static String otherwise(@Nullable String value, String otherwise) {
    return value == null || value.isBlank() ? otherwise : value;
  }

  /** One row, all its rounds on one site; a round that goes wrong is the last. */
  static Result run(Fault fault, int rounds, long seed, Path folder) {
    var random = new Random(seed ^ fault.name().hashCode());
    var run = "r" + Long.toHexString(System.nanoTime());
    var numbers = new Numbers(run, seed);
    var proofs = new LinkedHashMap<String, Integer>();
    var troubles = new ArrayList<String>();
    var count = new Site.Count(0, 0, 0, 0, 0);
    var longest = Duration.ZERO;
    long peak = 0;
    int done = 0;
    var place = folder.resolve(fault.name() + "-" + run);
    try (var site = new Site(fault.plan(), place, numbers)) {
      while (done < rounds && troubles.isEmpty()) {
        done++;
        try (var load = Load.start(numbers, site.uris(), fault.plan().rate())) {
          load.mark();
          var proof = fault.script().run(new Round(site, load, random));
          proofs.merge(proof, 1, Integer::sum);
          longest = longer(longest, recovered(fault, site, load));
          load.odd().forEach(troubles::add);
        } catch (Exception e) {
          troubles.add("round %d: %s".formatted(done, e));
          site.revive();
        }
        troubles.addAll(site.complaints());
        count = site.count();
        if (count.lost() > 0 || count.doubled() > 0) {
          troubles.add(
              "round %d: %d lost, %d doubled".formatted(done, count.lost(), count.doubled()));
        }
      }
      peak = site.peakKiB();
    } catch (IOException | InterruptedException | RuntimeException e) {
      troubles.add(e.toString());
    }
    var result = new Result(fault, done, proofs, count, longest, peak, troubles);
    if (result.good()) {
      forget(place);
    }
    return result;
  }

  /** What a bad row has left tells why. */
  private static void forget(Path place) {
    try {
      FileSystemUtils.deleteRecursively(place);
    } catch (IOException e) {
      System.err.println("cannot be deleted: " + e);
    }
  }

  /** From the end of the fault until a new request was acknowledged and the spool is empty. */
  private static Duration recovered(Fault fault, Site site, Load load) throws Exception {
    var acknowledged = load.recovered(fault.patience());
    load.stop();
    site.awaitDrained(fault.patience());
    var drained = load.sinceMark();
    site.gateways().forEach(GatewayProcess::notePeak);
    return longer(acknowledged, drained);
  }

  private static Duration longer(Duration one, Duration other) {
    return one.compareTo(other) > 0 ? one : other;
  }
}
