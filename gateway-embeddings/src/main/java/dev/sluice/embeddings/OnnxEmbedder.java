package dev.sluice.embeddings;

import ai.djl.huggingface.tokenizers.Encoding;
import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import dev.sluice.core.port.Embedder;
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
 * A sentence model in the ONNX format, run in this process: its output is a vector for each token,
 * of which the mean is that of the text.
 *
 * <p>Each text is run by itself. A model with weights of eight bits takes one scale for all that it
 * is shown at once, so that the vectors of a text would depend on its company; and texts of
 * different lengths would have to be filled up.
 *
 * <p>Safe for use by many threads, whose texts are computed by as many threads of its own as it was
 * told; a text takes some milliseconds of one core.
 */
public final class OnnxEmbedder implements Embedder, AutoCloseable {
  /** all-MiniLM-L6-v2 with weights of eight bits, as the jar of LangChain4j has it. */
  public static final Model BUNDLED = new Model("all-minilm-l6-v2-q", 384);

  /** Tokens the model was trained with. */
  private static final int MAX_TOKENS = 256;

  /**
   * ONNX Runtime goes through a model's graph by recursion, which a thread's usual 1 MiB is too
   * little for.
   */
  private static final long STACK_BYTES = 64 << 20;

  private static final Duration IDLE_TIMEOUT = Duration.ofSeconds(30);

  /**
   * Who asks while as many wait is told at once: they are about a second of one core, and by then
   * an answer without vectors is worth more than one with them.
   */
  private static final int QUEUE_CAPACITY = 256;

  /** A property of the tokenizer's library. */
  private static final String OFFLINE = "ai.djl.offline";

  /** Of a text, before it is made tokens: no word of a language is longer than this. */
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
   * The model in the jar, which is loaded when it is first asked: most of a hundred megabytes and a
   * second, which who never asks does not pay.
   *
   * @param parallelism texts that are computed at the same time, each on one core
   */
  public static OnnxEmbedder bundled(int parallelism) {
    return of(
        BUNDLED,
        () -> resource(BUNDLED.name() + ".onnx"),
        () -> resource(BUNDLED.name() + "-tokenizer.json"),
        parallelism);
  }

  /**
   * @param model what the ONNX file is
   * @param onnx the file
   * @param vocabulary the tokenizer of the same model, as Hugging Face's library writes it
   */
  static OnnxEmbedder of(
      Model model, Supplier<byte[]> onnx, Supplier<byte[]> vocabulary, int parallelism) {
    return new OnnxEmbedder(model, onnx, vocabulary, parallelism);
  }

  /** What is not on the heap. */
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
   * The tokenizer's library would load its native part from the internet on a machine with CUDA,
   * though the jar has all that is needed, and on one of AWS tell its makers of it. It looks at
   * this when it is first used, and at {@code DJL_OFFLINE} in the environment before.
   */
  private static void stayOffline() {
    if (System.getProperty(OFFLINE) == null) {
      System.setProperty(OFFLINE, "true");
    }
  }

  private static OrtSession session(byte[] onnx) throws OrtException {
    try (var options = new OrtSession.SessionOptions()) {
      options.setIntraOpNumThreads(1); // several would wait for each other, spinning
      options.setInterOpNumThreads(1);
      options.setMemoryPatternOptimization(false); // one pattern for each length there is
      options.setCPUArenaAllocator(false); // keeps the most it ever needed
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
              : "%d wait for the model %s".formatted(QUEUE_CAPACITY, model.name()),
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
        executor.remove(embeddings); // nobody waits for it any more, but it would take a place
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
          "%s gives %d numbers for %d tokens, not %d for each"
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

  /** Frees what is not on the heap, once nobody computes any more; who asks later is refused. */
  @Override
  public void close() {
    executor.shutdown();
    try {
      if (!executor.awaitTermination(IDLE_TIMEOUT.toSeconds(), TimeUnit.SECONDS)) {
        return; // rather than take away what is in use
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
