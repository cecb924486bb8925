package dev.sluice.embeddings;

import dev.sluice.query.port.Embedder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * An embedding model behind {@code POST /embeddings} of the OpenAI API, which many servers provide.
 * It returns one vector for a text, and none for its tokens.
 *
 * <p>A request that fails for a transient reason is retried. After {@value #FAILURE_THRESHOLD}
 * failed requests in a row the endpoint gets no request during a cooldown, so that callers fail
 * immediately and need not wait for a timeout. The first request after the cooldown probes the
 * endpoint, while all others still fail. Safe for use by many threads.
 */
public final class OpenAiEmbedder implements Embedder, AutoCloseable {
  private static final int FAILURE_THRESHOLD = 3;

  /** Maximum number of texts in one request. */
  private static final int MAX_TEXTS_PER_REQUEST = 64;

  /**
   * Maximum number of characters of a text, which is truncated; models read some thousand tokens.
   */
  private static final int MAX_TEXT_CHARACTERS = 8_000;

  private static final int TOO_MANY_REQUESTS = 429;
  private static final int SERVER_ERROR = 500;

  /** Statuses with which an endpoint rejects the input. */
  private static final Set<Integer> INVALID_INPUT_STATUSES = Set.of(400, 413, 422);

  /** Maximum size of a response in bytes: 64 vectors of 4,096 numbers with twenty digits each. */
  private static final long MAX_RESPONSE_BYTES = 8 << 20;

  private static final Duration INITIAL_RETRY_DELAY = Duration.ofMillis(200);
  private static final JsonMapper JSON = new JsonMapper();

  private final OpenAiSettings settings;
  private final InstantSource clock;
  private final Sleeper sleeper;
  private final HttpClient http;
  private final ReentrantLock lock = new ReentrantLock();
  private int consecutiveFailures;
  private @Nullable Instant cooldownUntil;

  /** Waits between two attempts. */
  interface Sleeper {
    void sleep(Duration time) throws InterruptedException;
  }

  public OpenAiEmbedder(OpenAiSettings settings) {
    this(settings, InstantSource.system(), time -> TimeUnit.NANOSECONDS.sleep(time.toNanos()));
  }

  OpenAiEmbedder(OpenAiSettings settings, InstantSource clock, Sleeper sleeper) {
    this.settings = settings;
    this.clock = clock;
    this.sleeper = sleeper;
    http = HttpClient.newBuilder().connectTimeout(settings.timeout()).build();
  }

  @Override
  public Model model() {
    return settings.model();
  }

  @Override
  public boolean isRemote() {
    return true;
  }

  @Override
  public List<Embedding> embed(List<String> texts) throws InterruptedException {
    var embeddings = new Embedding[texts.size()];
    for (int from = 0; from < texts.size(); from += MAX_TEXTS_PER_REQUEST) {
      var batch = texts.subList(from, Math.min(texts.size(), from + MAX_TEXTS_PER_REQUEST));
      embedBatch(batch, embeddings, from);
    }
    return Arrays.asList(embeddings);
  }

  /**
   * Requests one vector, without retry and cooldown.
   *
   * @return the dimension of the vector; empty when the response has no vector
   */
  public OptionalInt probe() throws InterruptedException {
    try {
      var response = sendOnce(request(List.of("probe")), new StringBuilder());
      int numbers = response == null ? 0 : response.path("data").path(0).path("embedding").size();
      return numbers == 0 ? OptionalInt.empty() : OptionalInt.of(numbers);
    } catch (EmbedderUnavailableException | InvalidInputException _) {
      return OptionalInt.empty();
    }
  }

  private void embedBatch(List<String> texts, Embedding[] into, int from)
      throws InterruptedException {
    requireNoCooldown();
    try {
      readEmbeddings(sendWithRetry(request(texts)), into, from, texts.size());
      onSuccess();
    } catch (InvalidInputException e) {
      onSuccess(); // a rejection shows that the endpoint is available
      throw e;
    } catch (EmbedderUnavailableException e) {
      onFailure();
      throw e;
    }
  }

  private HttpRequest request(List<String> texts) {
    var body = JSON.createObjectNode().put("model", settings.model().name());
    var input = body.putArray("input");
    for (var text : texts) {
      // Most endpoints reject an empty text.
      var beginning = text.substring(0, Math.min(text.length(), MAX_TEXT_CHARACTERS));
      input.add(beginning.isEmpty() ? " " : beginning);
    }
    body.put("encoding_format", "float");
    var request =
        HttpRequest.newBuilder(settings.url().resolve(path()))
            .timeout(settings.timeout())
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString(body.toString()));
    if (settings.apiKey() != null) {
      request.header("Authorization", "Bearer " + settings.apiKey());
    }
    return request.build();
  }

  private String path() {
    var path = settings.url().getPath();
    return (path.endsWith("/") ? path : path + "/") + "embeddings";
  }

  private JsonNode sendWithRetry(HttpRequest request) throws InterruptedException {
    var delay = INITIAL_RETRY_DELAY;
    for (int i = 1; ; i++) {
      var reason = new StringBuilder();
      var response = sendOnce(request, reason);
      if (response != null) {
        return response;
      }
      if (i == settings.maxAttempts()) {
        throw new EmbedderUnavailableException("%s: %s".formatted(settings, reason));
      }
      sleeper.sleep(delay);
      delay = delay.multipliedBy(2);
    }
  }

  /** Sends a request; returns null and appends the reason when a retry may succeed. */
  private @Nullable JsonNode sendOnce(HttpRequest request, StringBuilder reason)
      throws InterruptedException {
    // The timeout of the request itself ends with the headers, not with the body.
    var pending =
        http.sendAsync(
            request, BodyHandlers.limiting(BodyHandlers.ofByteArray(), MAX_RESPONSE_BYTES));
    HttpResponse<byte[]> response;
    try {
      response = pending.get(settings.timeout().toNanos(), TimeUnit.NANOSECONDS);
    } catch (ExecutionException e) {
      reason.append(e.getCause());
      return null;
    } catch (TimeoutException _) {
      reason.append("no response within ").append(settings.timeout());
      return null;
    } finally {
      pending.cancel(true); // has no effect on a complete response
    }
    int status = response.statusCode();
    if (status == TOO_MANY_REQUESTS || status >= SERVER_ERROR) {
      reason.append("status ").append(status);
      return null;
    }
    if (INVALID_INPUT_STATUSES.contains(status)) {
      throw new InvalidInputException("%s: status %d".formatted(settings, status));
    }
    if (status != 200) {
      throw new EmbedderUnavailableException("%s: status %d".formatted(settings, status));
    }
    try {
      return JSON.readTree(response.body());
    } catch (JacksonException e) {
      throw new EmbedderUnavailableException(
          "%s: response is not JSON: %s".formatted(settings, e.getOriginalMessage()), e);
    }
  }

  /** Reads the vectors, which have any order, each with the index of its text. */
  private void readEmbeddings(JsonNode response, Embedding[] into, int from, int count) {
    for (var each : response.path("data")) {
      int index = each.path("index").asInt(-1);
      if (index < 0 || index >= count) {
        throw new EmbedderUnavailableException(
            "%s: vector for text %d of %d".formatted(settings, index, count));
      }
      into[from + index] =
          new Embedding(VectorNorms.normalize(vector(each.path("embedding"))), List.of());
    }
    for (int i = from; i < from + count; i++) {
      if (into[i] == null) {
        throw new EmbedderUnavailableException(
            "%s: no vector for text %d".formatted(settings, i - from));
      }
    }
  }

  private float[] vector(JsonNode numbers) {
    int dimension = settings.model().dimension();
    if (numbers.size() != dimension) {
      throw new EmbedderUnavailableException(
          "%s: vector has dimension %d, not %d".formatted(settings, numbers.size(), dimension));
    }
    var vector = new float[dimension];
    boolean nonZero = false;
    for (int i = 0; i < dimension; i++) {
      vector[i] = numbers.get(i).isNumber() ? (float) numbers.get(i).asDouble() : Float.NaN;
      if (!Float.isFinite(vector[i])) {
        throw new EmbedderUnavailableException(
            "%s: vector has a value that is not a finite number".formatted(settings));
      }
      nonZero |= vector[i] != 0;
    }
    if (!nonZero) {
      throw new EmbedderUnavailableException("%s: vector is zero".formatted(settings));
    }
    return vector;
  }

  private void requireNoCooldown() {
    lock.lock();
    try {
      if (cooldownUntil == null) {
        return;
      }
      var now = clock.instant();
      if (now.isBefore(cooldownUntil)) {
        throw new EmbedderUnavailableException(
            "%s failed %d times in a row; no request until %s"
                .formatted(settings, consecutiveFailures, cooldownUntil));
      }
      cooldownUntil = now.plus(settings.cooldown()); // for all others; this caller probes
    } finally {
      lock.unlock();
    }
  }

  private void onSuccess() {
    lock.lock();
    try {
      consecutiveFailures = 0;
      cooldownUntil = null;
    } finally {
      lock.unlock();
    }
  }

  private void onFailure() {
    lock.lock();
    try {
      consecutiveFailures++;
      if (consecutiveFailures >= FAILURE_THRESHOLD) {
        cooldownUntil = clock.instant().plus(settings.cooldown());
      }
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void close() {
    http.shutdownNow();
  }
}
