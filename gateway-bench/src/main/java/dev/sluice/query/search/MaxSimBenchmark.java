package dev.sluice.query.search;

import dev.sluice.bench.Allocates;
import dev.sluice.bench.HotPathBenchmark;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.NullUnmarked;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Setup;

/**
 * Measures the comparison of the query tokens with the tokens of a hundred templates, with one byte
 * per number.
 *
 * <p>A query has 12 tokens, a template 60, a vector 384 numbers, as the bundled model and the
 * embedding strategy produce them.
 */
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@NullUnmarked // JMH fills the fields
public class MaxSimBenchmark extends HotPathBenchmark {
  private static final int DIMENSION = 384;
  private static final int QUERY_TOKENS = 12;
  private static final int TEMPLATE_TOKENS = 60;
  private static final int TEMPLATES = 100;

  private byte[] query;
  private List<byte[]> templates;

  @Setup
  public void generate() {
    var random = new SplittableRandom(42);
    query = MaxSim.pack(vectors(QUERY_TOKENS, random));
    templates =
        Stream.generate(() -> MaxSim.pack(vectors(TEMPLATE_TOKENS, random)))
            .limit(TEMPLATES)
            .toList();
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
    var scorer = new MaxSim.QueryScorer(query, DIMENSION);
    double sum = 0;
    for (var template : templates) {
      sum += scorer.score(template);
    }
    return sum;
  }
}
