package dev.sluice.embeddings;

import ai.djl.huggingface.tokenizers.Encoding;
import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import dev.sluice.query.port.Embedder;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.FloatBuffer;
import java.nio.LongBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A sentence model in the ONNX format that runs in this process. The model returns a vector for
 * each token; the vector of the text is their mean.
 *
 * <p>Each text is a separate run of the model. A model with 8-bit weights uses one scale for all
 * texts of a run, so that a vector would depend on the other texts of the run, and texts of
 * different lengths would need padding; see ADR 0031.
 *
 * <p>Safe for use by many threads. The texts are computed on a fixed number of threads of the
 * embedder; a text takes some milliseconds of one core.
 */
public final class OnnxEmbedder implements Embedder, AutoCloseable {
  /** The model all-MiniLM-L6-v2 with 8-bit weights, from the jar of LangChain4j. */
  public static final Model BUNDLED = new Model("all-minilm-l6-v2-q", 384);

  /** Maximum number of tokens of a text, as in the training of the model. */
  private static final int MAX_TOKENS = 256;

  /**
   * Stack size of the model threads in bytes: ONNX Runtime traverses the graph of a model by
   * recursion, for which the default of 1 MiB is too small.
   */
  private static final long STACK_BYTES = 64 << 20;

  private static final Duration IDLE_TIMEOUT = Duration.ofSeconds(30);

  /**
   * Maximum number of waiting calls; further calls fail immediately. The full queue is about a
   * second of work for one core, after which a search result without vectors is better than a later
   * one.
   */
  private static final int QUEUE_CAPACITY = 256;

  /** The system property that keeps the tokenizer library offline. */
  private static final String OFFLINE = "ai.djl.offline";

  /**
   * Maximum number of characters of a text before tokenization, since no word of a language has
   * more than 64 characters.
   */
  private static final int MAX_TEXT_CHARACTERS = MAX_TOKENS * 64;

  private final Model model;
  private final Supplier<byte[]> onnx;
  private final Supplier<byte[]> vocabulary;
  private final ThreadPoolExecutor executor;
  private final ReentrantLock loadLock = new ReentrantLock();
  private volatile @Nullable NativeResources resources;

  private OnnxEmbedder(
      Model model, Supplier<byte[]> onnx, Supplier<byte[]> vocabulary, int parallelism) {
    this.model = model;
    this.onnx = onnx;
    this.vocabulary = vocabulary;
    executor =
        new ThreadPoolExecutor(
            parallelism,
            parallelism,
            IDLE_TIMEOUT.toSeconds(),
            TimeUnit.SECONDS,
            new ArrayBlockingQueue<>(QUEUE_CAPACITY),
            task -> daemon(new Thread(null, task, "model", STACK_BYTES)));
    executor.allowCoreThreadTimeOut(true);
  }

  /**
   * Returns the model in the jar. It is loaded by the first call, which takes up to a second and a
   * hundred megabytes, so that a process without searches does not pay for it.
   *
   * @param parallelism maximum number of texts that are computed concurrently, each on one core
   */
  public static OnnxEmbedder bundled(int parallelism) {
    return of(
        BUNDLED,
        () -> resource(BUNDLED.name() + ".onnx"),
        () -> resource(BUNDLED.name() + "-tokenizer.json"),
        parallelism);
  }

  /**
   * Returns an embedder for a model file.
   *
   * @param model name and dimension of the model
   * @param onnx the source of the ONNX file
   * @param vocabulary the source of the tokenizer file of the same model, in the JSON format of the
   *     Hugging Face library
   * @param parallelism maximum number of texts that are computed concurrently
   */
  static OnnxEmbedder of(
      Model model, Supplier<byte[]> onnx, Supplier<byte[]> vocabulary, int parallelism) {
    return new OnnxEmbedder(model, onnx, vocabulary, parallelism);
  }

  /** The resources that need an explicit close, since their memory is outside the heap. */
  private record NativeResources(OrtSession session, HuggingFaceTokenizer tokenizer) {}

  private NativeResources ensureLoaded() throws InterruptedException {
    var current = resources;
    if (current != null) {
      return current;
    }
    loadLock.lockInterruptibly();
    try {
      current = resources;
      if (current == null) {
        current = load();
        resources = current;
      }
      return current;
    } finally {
      loadLock.unlock();
    }
  }

  private NativeResources load() {
    try {
      var session = session(onnx.get());
      try {
        stayOffline();
        var tokenizer =
            HuggingFaceTokenizer.newInstance(
                new ByteArrayInputStream(vocabulary.get()),
                Map.of(
                    "padding",
                    "false",
                    "truncation",
                    "true",
                    "maxLength",
                    String.valueOf(MAX_TOKENS),
                    "modelMaxLength",
                    String.valueOf(MAX_TOKENS)));
        return new NativeResources(session, tokenizer);
      } catch (IOException | RuntimeException e) {
        session.close();
        throw e;
      }
    } catch (OrtException | IOException | RuntimeException | LinkageError e) {
      throw new EmbedderUnavailableException(
          "the model %s cannot be loaded: %s".formatted(model.name(), e), e);
    }
  }

  /**
   * Keeps the tokenizer library offline. Otherwise it downloads its native library on a machine
   * with CUDA, although the jar has one, and reports its use to its vendor on a machine of AWS. The
   * library reads this property, or {@code DJL_OFFLINE} in the environment, at its first use.
   */
  private static void stayOffline() {
    if (System.getProperty(OFFLINE) == null) {
      System.setProperty(OFFLINE, "true");
    }
  }

  private static OrtSession session(byte[] onnx) throws OrtException {
    try (var options = new OrtSession.SessionOptions()) {
      options.setIntraOpNumThreads(1); // several threads would spin while they wait
      options.setInterOpNumThreads(1);
      options.setMemoryPatternOptimization(false); // it keeps a pattern for each text length
      options.setCPUArenaAllocator(false); // it never releases its maximum size
      return OrtEnvironment.getEnvironment().createSession(onnx, options);
    }
  }

  private static byte[] resource(String name) {
    try (var in = OnnxEmbedder.class.getResourceAsStream("/" + name)) {
      if (in == null) {
        throw new EmbedderUnavailableException("no " + name + " on the class path");
      }
      return in.readAllBytes();
    } catch (IOException e) {
      throw new EmbedderUnavailableException(name + " cannot be read", e);
    }
  }

  @Override
  public Model model() {
    return model;
  }

  @Override
  public List<Embedding> embed(List<String> texts) throws InterruptedException {
    var embeddings = new FutureTask<>(() -> compute(texts));
    try {
      executor.execute(embeddings);
    } catch (RejectedExecutionException e) {
      throw new EmbedderUnavailableException(
          executor.isShutdown()
              ? "the model " + model.name() + " is closed"
              : "the queue of the model %s is full: %d calls wait"
                  .formatted(model.name(), QUEUE_CAPACITY),
          e);
    }
    try {
      return embeddings.get();
    } catch (ExecutionException e) {
      throw e.getCause() instanceof EmbedderUnavailableException known
          ? known
          : new EmbedderUnavailableException("the model " + model.name() + " failed", e);
    } finally {
      if (embeddings.cancel(false)) {
        executor.remove(embeddings); // without a waiting caller it needs no queue slot
      }
    }
  }

  private List<Embedding> compute(List<String> texts) throws OrtException, InterruptedException {
    var resources = ensureLoaded();
    var embeddings = new ArrayList<Embedding>(texts.size());
    for (var text : texts) {
      embeddings.add(embed(text, resources));
    }
    return embeddings;
  }

  private Embedding embed(String text, NativeResources resources) throws OrtException {
    var tokens =
        resources.tokenizer.encode(text.substring(0, Math.min(text.length(), MAX_TEXT_CHARACTERS)));
    var ids = tokens.getIds();
    var inputs = new HashMap<String, OnnxTensor>();
    try {
      for (var name : resources.session.getInputNames()) {
        var values =
            switch (name) {
              case "input_ids" -> ids;
              case "attention_mask" -> tokens.getAttentionMask();
              default -> tokens.getTypeIds();
            };
        inputs.put(
            name,
            OnnxTensor.createTensor(
                OrtEnvironment.getEnvironment(),
                LongBuffer.wrap(values),
                new long[] {1, ids.length}));
      }
      try (var result = resources.session.run(inputs)) {
        return embedding(((OnnxTensor) result.get(0)).getFloatBuffer(), tokens);
      }
    } finally {
      inputs.values().forEach(OnnxTensor::close);
    }
  }

  private Embedding embedding(FloatBuffer numbers, Encoding encoding) {
    var tokenTexts = encoding.getTokens();
    if (numbers.remaining() != tokenTexts.length * model.dimension()) {
      throw new EmbedderUnavailableException(
          "%s returned %d numbers for %d tokens, not %d for each"
              .formatted(model.name(), numbers.remaining(), tokenTexts.length, model.dimension()));
    }
    var special = encoding.getSpecialTokenMask();
    var sentenceVector = new float[model.dimension()];
    var tokens = new ArrayList<Token>(tokenTexts.length);
    for (int i = 0; i < tokenTexts.length; i++) {
      var vector = new float[model.dimension()];
      numbers.get(vector);
      for (int j = 0; j < vector.length; j++) {
        sentenceVector[j] += vector[j];
      }
      if (special[i] == 0) {
        tokens.add(new Token(tokenTexts[i], VectorNorms.normalize(vector)));
      }
    }
    return new Embedding(VectorNorms.normalize(sentenceVector), tokens);
  }

  private static Thread daemon(Thread thread) {
    thread.setDaemon(true);
    return thread;
  }

  /** Releases the memory outside the heap after the last computation; later calls fail. */
  @Override
  public void close() {
    executor.shutdown();
    try {
      if (!executor.awaitTermination(IDLE_TIMEOUT.toSeconds(), TimeUnit.SECONDS)) {
        return; // without release, since a computation still uses the resources
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
      return;
    }
    var closing = resources;
    resources = null;
    if (closing != null) {
      try {
        closing.session.close();
      } catch (OrtException e) {
        throw new IllegalStateException(e);
      }
      closing.tokenizer.close();
    }
  }
}
