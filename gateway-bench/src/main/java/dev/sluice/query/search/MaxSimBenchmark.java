package dev.sluice.query.search;

import dev.sluice.bench.Allocates;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.NullUnmarked;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Measures the comparison of the query tokens with the tokens of a hundred templates, with one byte
 * per number, compared with floats.
 *
 * <pre>java -jar gateway-bench/target/benchmarks.jar MaxSimBenchmark -prof gc</pre>
 *
 * <p>A query has 12 tokens, a template 60, a vector 384 numbers, as the bundled model and the
 * embedding strategy produce them.
 */
@Fork(2)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@State(Scope.Thread)
@NullUnmarked // JMH fills the fields
public class MaxSimBenchmark {
  private static final int DIMENSION = 384;
  private static final int QUERY_TOKENS = 12;
  private static final int TEMPLATE_TOKENS = 60;
  private static final int TEMPLATES = 100;

  private List<float[]> query;
  private List<List<float[]>> templates;
  private byte[] packedQuery;
  private List<byte[]> packed;

  @Setup(Level.Trial)
  public void generate() {
    var random = new SplittableRandom(42);
    query = vectors(QUERY_TOKENS, random);
    packedQuery = MaxSim.pack(query);
    templates = new ArrayList<>();
    for (int i = 0; i < TEMPLATES; i++) {
      templates.add(vectors(TEMPLATE_TOKENS, random));
    }
    packed = templates.stream().map(MaxSim::pack).toList();
  }

  private static List<float[]> vectors(int count, SplittableRandom random) {
    var vectors = new ArrayList<float[]>();
    for (int i = 0; i < count; i++) {
      var vector = new float[DIMENSION];
      double squares = 0;
      for (int j = 0; j < DIMENSION; j++) {
        vector[j] = (float) random.nextGaussian();
        squares += vector[j] * vector[j];
      }
      for (int j = 0; j < DIMENSION; j++) {
        vector[j] /= (float) Math.sqrt(squares);
      }
      vectors.add(vector);
    }
    return vectors;
  }

  /** The vectors are stored as bytes; the scorer allocates the query tokens as ints. */
  @Benchmark
  @Allocates(20_300)
  public double bytes() {
    var scorer = new MaxSim.QueryScorer(packedQuery, DIMENSION);
    double sum = 0;
    for (var template : packed) {
      sum += scorer.score(template);
    }
    return sum;
  }

  @Benchmark
  @Allocates(0)
  public double floats() {
    double sum = 0;
    for (var template : templates) {
      for (var one : query) {
        float closest = -1;
        for (var other : template) {
          float product = 0;
          for (int i = 0; i < DIMENSION; i++) {
            product += one[i] * other[i];
          }
          closest = Math.max(closest, product);
        }
        sum += closest / QUERY_TOKENS;
      }
    }
    return sum;
  }
}
