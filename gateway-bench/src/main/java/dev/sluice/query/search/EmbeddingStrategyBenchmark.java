package dev.sluice.query.search;

import dev.sluice.embeddings.OnnxEmbedder;
import dev.sluice.query.port.Embedder;
import dev.sluice.query.port.TemplateVectorStore.Vectors;
import java.util.List;
import java.util.Map;
import java.util.UUID;
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
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Measures on one core the embedding of a template, which consists of three texts and the meaning
 * of its jargon, compared with the embedding of one text: the original text of the template, or a
 * query.
 *
 * <pre>java -jar gateway-bench/target/benchmarks.jar EmbeddingStrategyBenchmark</pre>
 */
@Fork(2)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@State(Scope.Benchmark)
@NullUnmarked // JMH fills the fields
public class EmbeddingStrategyBenchmark {
  private static final TemplateDocument DOCUMENT =
      new TemplateDocument(
          "dfs",
          "dfs.DataNode$PacketResponder",
          "PacketResponder <*> for block <*> terminating: connection reset by peer <*>",
          "PacketResponder 1 for block blk_38865049064139660 terminating: connection reset by peer");
  private static final String QUERY = "why did the replica lose its connection to the primary";

  private OnnxEmbedder embedder;
  private EmbeddingStrategy strategy;

  @Setup(Level.Trial)
  public void load() {
    embedder = OnnxEmbedder.bundled(1);
    strategy = new EmbeddingStrategy(embedder, Glossary.bundled());
  }

  @TearDown(Level.Trial)
  public void close() {
    embedder.close();
  }

  @Benchmark
  public Vectors template() throws InterruptedException {
    return strategy.embeddingsOf(Map.of(new UUID(0, 1), DOCUMENT)).getFirst();
  }

  @Benchmark
  public List<Embedder.Embedding> originalTextOnly() throws InterruptedException {
    return embedder.embed(List.of(DOCUMENT.originalText()));
  }

  @Benchmark
  public EmbeddingStrategy.EmbeddedQuery query() throws InterruptedException {
    return strategy.embedQuery(QUERY);
  }
}
