package dev.sluice.embeddings;

import dev.sluice.core.port.Embedder;
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
 * A model behind {@code POST /embeddings}, as OpenAI has it and many serve it. It tells one vector
 * for a text and none for its tokens.
 *
 * <p>A request that failed for a reason that may pass is tried again. An endpoint that fails
 * {@value #FAILURES} requests in a row is not asked for a while, so that nobody waits for what does
 * not come; the first after that shows whether it is back, while all others are still told that it
 * is not. Safe for use by many threads.
 */
public final class EndpointEmbedder implements Embedder, AutoCloseable {
  private static final int FAILURES = 3;

  /** Texts in one request. */
  private static final int AT_ONCE = 64;

  /** Of a text; models take some thousand tokens. */
  private static final int MOST_CHARACTERS = 8_000;

  private static final int TOO_MANY_REQUESTS = 429;
  private static final int SERVER_ERROR = 500;

  /** It does not like what it was sent. */
  private static final Set<Integer> REFUSALS = Set.of(400, 413, 422);

  /** Of an answer: 64 vectors of 4,096 numbers with twenty digits each. */
  private static final long MOST_BYTES = 8 << 20;

  private static final Duration FIRST_PAUSE = Duration.ofMillis(200);
  private static final JsonMapper JSON = new JsonMapper();

  private final EndpointSettings settings;
  private final InstantSource clock;
  private final Pause pause;
  private final HttpClient http;
  private final ReentrantLock lock = new ReentrantLock();
  private int failures;
  private @Nullable Instant restsUntil;

  /** Waits between tries. */
  interface Pause {
    void of(Duration time) throws InterruptedException;
  }

  public EndpointEmbedder(EndpointSettings settings) {
    this(settings, InstantSource.system(), time -> TimeUnit.NANOSECONDS.sleep(time.toNanos()));
  }

  EndpointEmbedder(EndpointSettings settings, InstantSource clock, Pause pause) {
    this.settings = settings;
    this.clock = clock;
    this.pause = pause;
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
    for (int from = 0; from < texts.size(); from += AT_ONCE) {
      var some = texts.subList(from, Math.min(texts.size(), from + AT_ONCE));
      ask(some, embeddings, from);
    }
    return Arrays.asList(embeddings);
  }

  /**
   * Asks for one vector, once.
   *
   * @return how many numbers it has; empty when the endpoint does not give one
   */
  public OptionalInt probe() throws InterruptedException {
    try {
      var answer = once(request(List.of("probe")), new StringBuilder());
      int numbers = answer == null ? 0 : answer.path("data").path(0).path("embedding").size();
      return numbers == 0 ? OptionalInt.empty() : OptionalInt.of(numbers);
    } catch (EmbedderUnavailableException | InvalidInputException _) {
      return OptionalInt.empty();
    }
  }

  private void ask(List<String> texts, Embedding[] into, int from) throws InterruptedException {
    requireAwake();
    try {
      read(tried(request(texts)), into, from, texts.size());
      succeeded();
    } catch (InvalidInputException e) {
      succeeded(); // it is there to refuse
      throw e;
    } catch (EmbedderUnavailableException e) {
      failed();
      throw e;
    }
  }

  private HttpRequest request(List<String> texts) {
    var body = JSON.createObjectNode().put("model", settings.model().name());
    var input = body.putArray("input");
    for (var text : texts) {
      // an empty text is refused by most
      var beginning = text.substring(0, Math.min(text.length(), MOST_CHARACTERS));
      input.add(beginning.isEmpty() ? " " : beginning);
    }
    body.put("encoding_format", "float");
    var request =
        HttpRequest.newBuilder(settings.url().resolve(path()))
            .timeout(settings.timeout())
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString(body.toString()));
    if (settings.key() != null) {
      request.header("Authorization", "Bearer " + settings.key());
    }
    return request.build();
  }

  private String path() {
    var path = settings.url().getPath();
    return (path.endsWith("/") ? path : path + "/") + "embeddings";
  }

  private JsonNode tried(HttpRequest request) throws InterruptedException {
    var wait = FIRST_PAUSE;
    for (int i = 1; ; i++) {
      var trouble = new StringBuilder();
      var answer = once(request, trouble);
      if (answer != null) {
        return answer;
      }
      if (i == settings.tries()) {
        throw new EmbedderUnavailableException("%s: %s".formatted(settings, trouble));
      }
      pause.of(wait);
      wait = wait.multipliedBy(2);
    }
  }

  /** Null when another try may do better, with the reason. */
  private @Nullable JsonNode once(HttpRequest request, StringBuilder trouble)
      throws InterruptedException {
    // the request's own time-out ends with the headers
    var asked =
        http.sendAsync(request, BodyHandlers.limiting(BodyHandlers.ofByteArray(), MOST_BYTES));
    HttpResponse<byte[]> response;
    try {
      response = asked.get(settings.timeout().toNanos(), TimeUnit.NANOSECONDS);
    } catch (ExecutionException e) {
      trouble.append(e.getCause());
      return null;
    } catch (TimeoutException _) {
      trouble.append("no answer within ").append(settings.timeout());
      return null;
    } finally {
      asked.cancel(true); // has no effect on what is complete
    }
    int status = response.statusCode();
    if (status == TOO_MANY_REQUESTS || status >= SERVER_ERROR) {
      trouble.append("status ").append(status);
      return null;
    }
    if (REFUSALS.contains(status)) {
      throw new InvalidInputException("%s: status %d".formatted(settings, status));
    }
    if (status != 200) {
      throw new EmbedderUnavailableException("%s: status %d".formatted(settings, status));
    }
    try {
      return JSON.readTree(response.body());
    } catch (JacksonException e) {
      throw new EmbedderUnavailableException(
          "%s: no JSON: %s".formatted(settings, e.getOriginalMessage()), e);
    }
  }

  /** The vectors come in any order, each with its place. */
  private void read(JsonNode answer, Embedding[] into, int from, int count) {
    for (var each : answer.path("data")) {
      int index = each.path("index").asInt(-1);
      if (index < 0 || index >= count) {
        throw new EmbedderUnavailableException(
            "%s: a vector for text %d of %d".formatted(settings, index, count));
      }
      into[from + index] = new Embedding(UnitLength.of(vector(each.path("embedding"))), List.of());
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
          "%s: a vector of %d numbers, not of %d".formatted(settings, numbers.size(), dimension));
    }
    var vector = new float[dimension];
    boolean points = false;
    for (int i = 0; i < dimension; i++) {
      vector[i] = numbers.get(i).isNumber() ? (float) numbers.get(i).asDouble() : Float.NaN;
      if (!Float.isFinite(vector[i])) {
        throw new EmbedderUnavailableException(
            "%s: a vector with something else than numbers".formatted(settings));
      }
      points |= vector[i] != 0;
    }
    if (!points) {
      throw new EmbedderUnavailableException("%s: a vector of zeros".formatted(settings));
    }
    return vector;
  }

  private void requireAwake() {
    lock.lock();
    try {
      if (restsUntil == null) {
        return;
      }
      var now = clock.instant();
      if (now.isBefore(restsUntil)) {
        throw new EmbedderUnavailableException(
            "%s failed %d times and is asked again at %s"
                .formatted(settings, failures, restsUntil));
      }
      restsUntil = now.plus(settings.rest()); // for all others, however this one ends
    } finally {
      lock.unlock();
    }
  }

  private void succeeded() {
    lock.lock();
    try {
      failures = 0;
      restsUntil = null;
    } finally {
      lock.unlock();
    }
  }

  private void failed() {
    lock.lock();
    try {
      failures++;
      if (failures >= FAILURES) {
        restsUntil = clock.instant().plus(settings.rest());
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
