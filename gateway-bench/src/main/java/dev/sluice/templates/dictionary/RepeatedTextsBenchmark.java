package dev.sluice.templates.dictionary;

import dev.sluice.bench.Allocates;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;
import dev.sluice.templates.dictionary.SharedDictionaryCache.CacheSettings;
import java.nio.ByteBuffer;
import java.security.DigestException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HashSet;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.NullUnmarked;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.CommandLineOptionException;
import org.openjdk.jmh.runner.options.CommandLineOptions;
import org.openjdk.jmh.runner.options.OptionsBuilder;

/**
 * Measures the dictionary cache for repeated texts, compared with the MD5 of every text and a set
 * of known MD5s.
 *
 * <pre>
 * java -cp gateway-bench/target/benchmarks.jar dev.sluice.templates.dictionary.RepeatedTextsBenchmark
 * </pre>
 *
 * <p>An operation is one text of a stream of 200,000 over 2,000 distinct texts of 0.4 to 8.4 kB.
 * The n-th most frequent text occurs with a frequency proportional to 1/n. Both variants start each
 * stream empty, so that the MD5 and the insert of each new text are included. The {@code main}
 * method runs both variants one after the other and compares them: the exit status is 1 when the
 * cache is not at least eight times faster.
 */
@Fork(3)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@OperationsPerInvocation(RepeatedTextsBenchmark.STREAM)
@State(Scope.Thread)
@NullUnmarked // JMH fills the fields
public class RepeatedTextsBenchmark {
  static final int STREAM = 200_000;
  private static final int DISTINCT = 2_000;
  private static final int MIN_LENGTH = 400;
  private static final int MAX_LENGTH = 8_400;
  private static final int MIN_SPEEDUP = 8;
  private static final long RECEIVED_NANOS = 1_800_000_000_000_000_000L;

  private final byte[][] texts = new byte[DISTINCT][];
  private final int[] stream = new int[STREAM];

  @Setup(Level.Trial)
  public void generate() {
    var random = new SplittableRandom(42);
    var sums = new double[DISTINCT];
    double sum = 0;
    for (int i = 0; i < DISTINCT; i++) {
      texts[i] = new byte[random.nextInt(MIN_LENGTH, MAX_LENGTH + 1)];
      random.nextBytes(texts[i]);
      for (int j = 0; j < texts[i].length; j++) {
        texts[i][j] = (byte) (' ' + (texts[i][j] & 63)); // printable, so that it is valid UTF-8
      }
      sum += 1.0 / (i + 1);
      sums[i] = sum;
    }
    for (int i = 0; i < STREAM; i++) {
      int found = Arrays.binarySearch(sums, random.nextDouble(sum));
      stream[i] = found >= 0 ? found : -found - 1;
    }
  }

  @Benchmark
  @Allocates(58)
  public long cache() throws InterruptedException {
    var workerCache =
        new SharedDictionaryCache(new CacheSettings(8_192, 16_384), new NoopDictionary())
            .newWorkerCache();
    workerCache.setReceiveTime(RECEIVED_NANOS);
    var namespace = workerCache.namespace(EntryKind.TEXT, "acme", new byte[0], 0, 0);
    long sum = 0;
    for (int i = 0; i < STREAM; i++) {
      var text = texts[stream[i]];
      workerCache.findOrPut(namespace, text, 0, text.length);
      sum += workerCache.idLow();
      if (i % 1_000 == 999) {
        workerCache.flush();
      }
    }
    return sum;
  }

  @Benchmark
  public long md5AndSet() throws NoSuchAlgorithmException, DigestException {
    var md5 = MessageDigest.getInstance("MD5");
    var digest = ByteBuffer.allocate(16);
    var seen = new HashSet<UUID>();
    long sum = 0;
    for (int i = 0; i < STREAM; i++) {
      var text = texts[stream[i]];
      md5.update(text, 0, text.length);
      md5.digest(digest.array(), 0, 16);
      var id = new UUID(digest.getLong(0), digest.getLong(8));
      seen.add(id);
      sum += id.getLeastSignificantBits();
    }
    return sum + seen.size();
  }

  /** Runs and compares both variants; accepts the options of JMH. */
  public static void main(String[] args) throws RunnerException, CommandLineOptionException {
    var options =
        new OptionsBuilder()
            .parent(new CommandLineOptions(args))
            .include(RepeatedTextsBenchmark.class.getName())
            .build();
    double cache = 0;
    double md5 = 0;
    for (var run : new Runner(options).run()) {
      double score = run.getPrimaryResult().getScore();
      if (run.getParams().getBenchmark().endsWith(".cache")) {
        cache = score;
      } else {
        md5 = score;
      }
    }
    System.out.printf("the cache is %.1f times as fast as MD5 and a set%n", md5 / cache);
    System.exit(md5 >= MIN_SPEEDUP * cache ? 0 : 1);
  }
}
