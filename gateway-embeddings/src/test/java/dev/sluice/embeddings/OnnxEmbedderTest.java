package dev.sluice.embeddings;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import ai.djl.huggingface.tokenizers.jni.LibUtils;
import ai.djl.util.Platform;
import ai.djl.util.Utils;
import dev.sluice.query.port.Embedder.EmbedderUnavailableException;
import dev.sluice.query.port.Embedder.Embedding;
import dev.sluice.query.port.Embedder.Model;
import dev.sluice.query.port.Embedder.Token;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

@Timeout(60)
class OnnxEmbedderTest {
  private static final int QUEUE_CAPACITY = 256;
  private static final String OFFLINE = "ai.djl.offline";
  private static final OnnxEmbedder EMBEDDER = OnnxEmbedder.bundled(2);

  @AfterAll
  static void close() {
    EMBEDDER.close();
  }

  private static Embedding embed(String text) throws InterruptedException {
    return EMBEDDER.embed(List.of(text)).getFirst();
  }

  private static double dotProduct(float[] a, float[] b) {
    double product = 0;
    for (int i = 0; i < a.length; i++) {
      product += (double) a[i] * b[i];
    }
    return product;
  }

  @Test
  void embed_textsOfSimilarMeaning_haveSimilarVectors() throws InterruptedException {
    var query = embed("the machine ran out of memory").sentenceVector();

    double alike = dotProduct(query, embed("insufficient RAM available on host").sentenceVector());
    double other = dotProduct(query, embed("user logged in from a new address").sentenceVector());

    assertThat(alike).isGreaterThan(other + 0.2);
  }

  @Test
  void embed_anyText_vectorsHaveTheModelsDimensionAndLengthOne() throws InterruptedException {
    var embedding = embed("connection refused by peer");

    assertThat(embedding.sentenceVector()).hasSize(EMBEDDER.model().dimension());
    assertThat(dotProduct(embedding.sentenceVector(), embedding.sentenceVector()))
        .isCloseTo(1, within(1e-5));
    assertThat(embedding.tokens())
        .extracting(Token::text)
        .containsExactly("connection", "refused", "by", "peer");
    assertThat(embedding.tokens())
        .allSatisfy(
            token ->
                assertThat(dotProduct(token.vector(), token.vector())).isCloseTo(1, within(1e-5)));
  }

  @Test
  void embed_inABatch_equalsItsVectorAlone() throws InterruptedException {
    var alone = embed("disk failure").sentenceVector();
    var inBatch =
        EMBEDDER.embed(List.of("a much longer text than the other one", "disk failure")).getLast();

    assertThat(inBatch.sentenceVector()).isEqualTo(alone);
  }

  @Test
  void embed_emptyAndNonEnglishAndBinary_haveVectorsToo() throws InterruptedException {
    for (var text :
        List.of("", " ", "Verbindung verweigert", "连接被拒绝", "\u0000\uFFFD\uD800", "🎉")) {
      assertThat(dotProduct(embed(text).sentenceVector(), embed(text).sentenceVector()))
          .isCloseTo(1, within(1e-5));
    }
  }

  @Test
  void embed_tooLongText_isTruncated() throws InterruptedException {
    var beginning = "word ".repeat(300);

    assertThat(embed(beginning + "x".repeat(1 << 20)).sentenceVector())
        .isEqualTo(embed(beginning).sentenceVector());
    assertThat(embed(beginning).tokens()).hasSizeLessThanOrEqualTo(256);
  }

  @Test
  void embed_invalidModelFile_failsEachTime() {
    try (var broken =
        OnnxEmbedder.of(
            new Model("broken", 384), () -> "nonsense".getBytes(UTF_8), () -> new byte[0], 1)) {
      for (int i = 0; i < 2; i++) {
        assertThatThrownBy(() -> broken.embed(List.of("text")))
            .isInstanceOf(EmbedderUnavailableException.class)
            .hasMessageContaining("broken");
      }
    }
  }

  @Test
  void embed_modelOfAnotherDimension_isUnavailable() {
    try (var other =
        OnnxEmbedder.of(
            new Model("other", 512), OnnxEmbedderTest::onnx, OnnxEmbedderTest::vocabulary, 1)) {
      assertThatThrownBy(() -> other.embed(List.of("text")))
          .isInstanceOf(EmbedderUnavailableException.class)
          .hasMessageContaining("not 512 for each");
    }
  }

  static Stream<Arguments> loadFailures() {
    Supplier<byte[]> nonsense = () -> "nonsense".getBytes(UTF_8);
    Supplier<byte[]> half = () -> Arrays.copyOf(onnx(), onnx().length / 2);
    return Stream.of(
        arguments("no model", missing("m.onnx"), null, "no m.onnx on the class path"),
        arguments("half a model", half, null, "cannot be loaded: ai.onnxruntime.OrtException"),
        arguments("no vocabulary", null, missing("m.json"), "no m.json on the class path"),
        arguments("an invalid vocabulary", null, nonsense, "cannot be loaded"));
  }

  private static Supplier<byte[]> missing(String name) {
    return () -> {
      throw new EmbedderUnavailableException("no " + name + " on the class path");
    };
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("loadFailures")
  void embed_missingResource_failsAndIsLoadedLater(
      String failure,
      @Nullable Supplier<byte[]> onnx,
      @Nullable Supplier<byte[]> vocabulary,
      String reason)
      throws Exception {
    var available = new AtomicBoolean();
    try (var late =
        OnnxEmbedder.of(
            OnnxEmbedder.BUNDLED,
            () -> onnx == null || available.get() ? onnx() : onnx.get(),
            () -> vocabulary == null || available.get() ? vocabulary() : vocabulary.get(),
            1)) {
      assertThatThrownBy(() -> late.embed(List.of("text")))
          .as(failure)
          .isInstanceOf(EmbedderUnavailableException.class)
          .hasMessageContaining("the model all-minilm-l6-v2-q cannot be loaded")
          .hasMessageContaining(reason);

      available.set(true);

      assertThat(late.embed(List.of("text"))).hasSize(1);
    }
  }

  /**
   * An embedder whose model file is only available once the test permits it, and its pending calls.
   */
  private static final class BlockedEmbedder implements AutoCloseable {
    final CountDownLatch loading = new CountDownLatch(1);
    final CountDownLatch proceed = new CountDownLatch(1);
    final BlockingQueue<Future<List<Embedding>>> completed = new LinkedBlockingQueue<>();
    final OnnxEmbedder embedder =
        OnnxEmbedder.of(OnnxEmbedder.BUNDLED, this::blockingModel, OnnxEmbedderTest::vocabulary, 1);

    private byte[] blockingModel() {
      loading.countDown();
      try {
        proceed.await();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
      return onnx();
    }

    List<Thread> embedAsync(int times) {
      return IntStream.range(0, times)
          .mapToObj(
              _ ->
                  Thread.startVirtualThread(
                      new FutureTask<>(() -> embedder.embed(List.of("text"))) {
                        @Override
                        protected void done() {
                          completed.add(this);
                        }
                      }))
          .toList();
    }

    void assertOneIsRejected() throws InterruptedException {
      var first = completed.take();
      assertThatThrownBy(first::get)
          .hasCauseInstanceOf(EmbedderUnavailableException.class)
          .hasMessageContaining("model all-minilm-l6-v2-q is full: " + QUEUE_CAPACITY);
    }

    void assertCompleted(int times) throws Exception {
      for (int i = 0; i < times; i++) {
        assertThat(completed.take().get()).hasSize(1);
      }
      assertThat(completed).isEmpty();
    }

    @Override
    public void close() {
      proceed.countDown();
      embedder.close();
    }
  }

  @Test
  void embed_queueFull_failsImmediately() throws Exception {
    try (var blockedEmbedder = new BlockedEmbedder()) {
      blockedEmbedder.embedAsync(1);
      blockedEmbedder.loading.await();
      blockedEmbedder.embedAsync(QUEUE_CAPACITY + 1);

      blockedEmbedder.assertOneIsRejected();

      blockedEmbedder.proceed.countDown();
      blockedEmbedder.assertCompleted(1 + QUEUE_CAPACITY);
    }
  }

  @Test
  void embed_waiterInterrupted_freesItsQueueSlot() throws Exception {
    try (var blockedEmbedder = new BlockedEmbedder()) {
      blockedEmbedder.embedAsync(1);
      blockedEmbedder.loading.await();
      var waiting = blockedEmbedder.embedAsync(QUEUE_CAPACITY);
      waiting.forEach(Thread::interrupt);
      for (int i = 0; i < QUEUE_CAPACITY; i++) {
        var next = blockedEmbedder.completed.take();
        assertThatThrownBy(next::get).hasCauseInstanceOf(InterruptedException.class);
      }
      blockedEmbedder.embedAsync(QUEUE_CAPACITY + 1);

      blockedEmbedder.assertOneIsRejected();

      blockedEmbedder.proceed.countDown();
      blockedEmbedder.assertCompleted(1 + QUEUE_CAPACITY);
    }
  }

  /** Simulates a machine with CUDA, for which the library would download its native part. */
  @Test
  void embed_onAMachineWithCuda_usesTheLibraryInTheJar(@TempDir Path cache) throws Exception {
    System.clearProperty(OFFLINE);
    assertThat(embedWithNewEmbedder()).hasSize(1);
    assertThat(Utils.isOfflineMode()).isTrue();
    var cuda = Platform.detectPlatform("tokenizers");
    set(cuda, "flavor", "cu124");
    set(cuda, "cudaArch", "80");
    var copy = LibUtils.class.getDeclaredMethod("copyJniLibrary", String[].class, Platform.class);
    copy.setAccessible(true);

    System.setProperty("ENGINE_CACHE_DIR", cache.toString());
    try {
      var names = new String[] {System.mapLibraryName("tokenizers")};
      assertThat(copy.invoke(null, names, cuda).toString())
          .startsWith(cache.toString())
          .contains("-cpu-");
    } finally {
      System.clearProperty("ENGINE_CACHE_DIR");
    }
  }

  @Test
  void embed_offlinePropertyAlreadySet_isNotOverwritten() throws Exception {
    System.setProperty(OFFLINE, "TRUE");
    try {
      assertThat(embedWithNewEmbedder()).hasSize(1);
      assertThat(System.getProperty(OFFLINE)).isEqualTo("TRUE");
    } finally {
      System.clearProperty(OFFLINE);
    }
  }

  private static List<Embedding> embedWithNewEmbedder() throws InterruptedException {
    try (var embedder = OnnxEmbedder.bundled(1)) {
      return embedder.embed(List.of("text"));
    }
  }

  private static void set(Platform platform, String field, String value) throws Exception {
    var declaredField = Platform.class.getDeclaredField(field);
    declaredField.setAccessible(true);
    declaredField.set(platform, value);
  }

  private static byte[] onnx() {
    return resource("/all-minilm-l6-v2-q.onnx");
  }

  private static byte[] vocabulary() {
    return resource("/all-minilm-l6-v2-q-tokenizer.json");
  }

  private static byte[] resource(String name) {
    try (var in = OnnxEmbedderTest.class.getResourceAsStream(name)) {
      return Objects.requireNonNull(in).readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
