package dev.sluice.testkit;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.RecordIds;
import dev.sluice.core.port.LogEnricher;
import dev.sluice.core.port.LogStore;
import dev.sluice.core.port.LogStore.DeliverySlice;
import dev.sluice.core.port.LogStore.StoreResult;
import dev.sluice.core.port.WriteResult;
import dev.sluice.query.filter.AttributeCondition.Operator;
import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.LogReader;
import dev.sluice.query.port.LogReader.LogPage;
import dev.sluice.query.port.LogReader.Position;
import dev.sluice.query.port.LogReader.StoredLog;
import dev.sluice.query.read.LongTextResolvingReader;
import dev.sluice.templates.DictionaryEncoder;
import dev.sluice.templates.dictionary.ContentId;
import dev.sluice.templates.dictionary.Dictionary;
import dev.sluice.templates.dictionary.Dictionary.DictionaryEntry;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;
import dev.sluice.templates.dictionary.SharedDictionaryCache;
import dev.sluice.templates.dictionary.TextReference;
import io.opentelemetry.proto.logs.v1.LogRecord;
import io.opentelemetry.proto.resource.v1.Resource;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * The contract of a store together with its dictionary: long texts are stored once, and are read
 * back as they were sent. Each test begins with an empty store and an empty dictionary.
 */
public abstract class DictionaryEncoderContract extends LogContract {
  private static final int LONG_TEXT_THRESHOLD = 1024;

  private static final String STACK_TRACE =
      "java.lang.IllegalStateException: no connection is free\n"
          + IntStream.range(0, 80)
              .mapToObj(i -> "\tat com.example.Pool.step%d(Pool.java:%d)\n".formatted(i, 40 + i))
              .reduce("", String::concat);

  /** Returns the dictionary with the texts of the store. */
  protected abstract Dictionary dictionary();

  private SharedDictionaryCache cache() {
    return new SharedDictionaryCache(
        new SharedDictionaryCache.CacheSettings(1024, 1024), dictionary());
  }

  private static LogEnricher enricher(SharedDictionaryCache cache) {
    return enricher(cache, LONG_TEXT_THRESHOLD);
  }

  private static LogEnricher enricher(SharedDictionaryCache cache, int longText) {
    return new DictionaryEncoder(
        null, cache.newWorkerCache(), new DictionaryEncoder.EncoderSettings(longText, true));
  }

  private LogReader resolvingReader() {
    return new LongTextResolvingReader(reader(), dictionary());
  }

  private void store(LogEnricher enricher, LogBatch... batches) throws InterruptedException {
    assertThat(store(enricher, slice(batches))).isEqualTo(new StoreResult.Stored());
  }

  private StoreResult store(LogEnricher enricher, DeliverySlice slice) throws InterruptedException {
    return enrichAndStore(store(), enricher, slice);
  }

  /** Enriches the delivery of a slice and stores the slice, as a delivery worker does. */
  public static StoreResult enrichAndStore(
      LogStore store, LogEnricher enricher, DeliverySlice slice) throws InterruptedException {
    var ids = new RecordIds();
    return switch (enricher.enrich(slice.batches(), ids)) {
      case WriteResult.Written() -> store.store(slice, ids);
      case WriteResult.Retryable(var reason) -> new StoreResult.Retryable(reason);
      case WriteResult.SchemaMismatch(var reason) -> new StoreResult.SchemaMismatch(reason);
    };
  }

  private static DeliverySlice slice(LogBatch... batches) {
    int records = List.of(batches).stream().mapToInt(LogBatch::records).sum();
    return new DeliverySlice(token(), List.of(batches), 0, records, false);
  }

  private static LogRecord logWithText(int nanosBefore, String value) {
    return log(nanosBefore).toBuilder().addAttributes(pair("text", string(value))).build();
  }

  private static LogBatch batchRepeating(int logs, String value) {
    return batchOf(
        IntStream.range(0, logs).mapToObj(i -> logWithText(i, value)).toArray(LogRecord[]::new));
  }

  /** Returns the values as they are stored, newest first. */
  private List<String> storedTexts() throws InterruptedException {
    return read(query().limit(10_000)).stream().map(DictionaryEncoderContract::textOf).toList();
  }

  private static String textOf(StoredLog log) {
    return log.attributes().getOrDefault("text", "none");
  }

  private List<DictionaryEntry> entries(String... texts) throws InterruptedException {
    return dictionary()
        .find("default", EntryKind.TEXT, List.of(texts).stream().map(ContentId::of).toList());
  }

  private List<StoredLog> read(LogReader from, QueryBuilder query) throws InterruptedException {
    return from.read(query.build()).logs();
  }

  // ---- stored values

  @Test
  void store_longTextAThousandTimes_isStoredOnceAndReadBackInFull() throws Exception {
    store(enricher(cache()), batchRepeating(1000, STACK_TRACE));

    assertThat(storedTexts())
        .containsExactlyElementsOf(
            IntStream.range(0, 1000)
                .mapToObj(i -> i == 0 ? STACK_TRACE : TextReference.of(STACK_TRACE))
                .toList());
    assertThat(storedTexts().getLast())
        .startsWith(STACK_TRACE.substring(0, 250))
        .endsWith("… [sluice:text:" + ContentId.of(STACK_TRACE) + "]")
        .hasSizeLessThan(TextReference.MAX_REFERENCE_BYTES);
    assertThat(entries(STACK_TRACE)).extracting(DictionaryEntry::text).containsExactly(STACK_TRACE);
    assertThat(read(resolvingReader(), query()))
        .hasSize(1000)
        .allSatisfy(log -> assertThat(textOf(log)).isEqualTo(STACK_TRACE));
  }

  /** The value of a key that was sent twice is the last one, after the values of other keys. */
  @Test
  void store_keySentTwice_bothTextsBecomeReferences() throws Exception {
    var first = "first " + STACK_TRACE;
    var other = "other " + STACK_TRACE;
    var logs =
        IntStream.range(0, 2)
            .mapToObj(
                i ->
                    log(i).toBuilder()
                        .addAttributes(pair("text", string(first)))
                        .addAttributes(pair("other", string(other)))
                        .addAttributes(pair("text", string(STACK_TRACE)))
                        .build())
            .toArray(LogRecord[]::new);

    store(enricher(cache()), batchOf(logs));

    var repeated = read(query().limit(10)).getLast().attributes();
    assertThat(repeated)
        .containsEntry("text", TextReference.of(STACK_TRACE))
        .containsEntry("other", TextReference.of(other));
    assertThat(entries(first)).isEmpty();
  }

  @Test
  void store_longTextsSeenOnce_stayInline() throws Exception {
    var texts = IntStream.range(0, 20).mapToObj(i -> i + STACK_TRACE).toArray(String[]::new);
    var batch =
        batchOf(
            IntStream.range(0, 20)
                .mapToObj(i -> logWithText(i, texts[i]))
                .toArray(LogRecord[]::new));
    var logEnricher = enricher(cache());

    store(logEnricher, batch);
    // a retry of the same delivery, as after a failure
    assertThat(store(logEnricher, new DeliverySlice(token(), List.of(batch), 0, 20, true)))
        .isEqualTo(new StoreResult.Stored());

    assertThat(storedTexts()).containsExactly(texts);
    assertThat(entries(texts)).isEmpty();
  }

  @Test
  void store_sameLogsRetried_areNoRepetition() throws Exception {
    var failing = new FailingDictionary(dictionary());
    var logEnricher =
        enricher(
            new SharedDictionaryCache(new SharedDictionaryCache.CacheSettings(64, 64), failing));
    var once = logWithText(2, "once " + STACK_TRACE);
    var batch = batchOf(logWithText(0, STACK_TRACE), logWithText(1, STACK_TRACE), once);

    failing.reason = "not now";
    for (int i = 0; i < 3; i++) {
      assertThat(store(logEnricher, slice(batch))).isInstanceOf(StoreResult.Retryable.class);
    }
    assertThat(storedTexts()).isEmpty();
    assertThat(entries(STACK_TRACE)).isEmpty();

    failing.reason = null;
    store(logEnricher, batch);

    assertThat(storedTexts())
        .containsExactly(STACK_TRACE, TextReference.of(STACK_TRACE), "once " + STACK_TRACE);
    assertThat(entries(STACK_TRACE, "once " + STACK_TRACE)).hasSize(1);
  }

  @Test
  void store_otherServiceAndOtherTenant_shareTextsPerTenant() throws Exception {
    var logEnricher = enricher(cache());
    var ownBatch = batchRepeating(2, STACK_TRACE);
    var otherTenantBatch =
        new LogBatch(
            UUID.randomUUID(),
            "acme",
            ownBatch.receivedNanos(),
            ownBatch.firstId().plus(1_000_000),
            2,
            ownBatch.expandedBytes(),
            ownBatch.otlp());

    store(logEnricher, ownBatch, otherTenantBatch);

    assertThat(read(resolvingReader(), query().tenant("acme")))
        .hasSize(2)
        .allSatisfy(log -> assertThat(textOf(log)).isEqualTo(STACK_TRACE));
    assertThat(dictionary().find("acme", EntryKind.TEXT, List.of(ContentId.of(STACK_TRACE))))
        .hasSize(1);
    assertThat(read(query().tenant("acme")))
        .extracting(DictionaryEncoderContract::textOf)
        .containsExactly(STACK_TRACE, TextReference.of(STACK_TRACE));
  }

  @Test
  void store_afterRestart_reusesTheSameEntry() throws Exception {
    store(enricher(cache()), batchRepeating(3, STACK_TRACE));

    store(enricher(cache()), batchRepeating(3, STACK_TRACE));

    assertThat(storedTexts()).filteredOn(STACK_TRACE::equals).hasSize(2);
    assertThat(entries(STACK_TRACE)).hasSize(1);
    assertThat(read(resolvingReader(), query()))
        .hasSize(6)
        .allSatisfy(log -> assertThat(textOf(log)).isEqualTo(STACK_TRACE));
  }

  @Test
  void store_concurrentWorkers_writeOneEntry() throws Exception {
    var cache = cache();
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      var tasks =
          IntStream.range(0, 4)
              .<Callable<StoreResult>>mapToObj(
                  _ -> () -> store(enricher(cache), slice(batchRepeating(50, STACK_TRACE))))
              .toList();
      for (var outcome : threads.invokeAll(tasks)) {
        assertThat(outcome.get()).isEqualTo(new StoreResult.Stored());
      }
    }

    assertThat(entries(STACK_TRACE)).hasSize(1);
    assertThat(read(resolvingReader(), query()))
        .hasSize(200)
        .allSatisfy(log -> assertThat(textOf(log)).isEqualTo(STACK_TRACE));
  }

  /**
   * Stores each value three times: in the first delivery, in a second delivery, and by another
   * process.
   */
  @Test
  void store_anyValue_isReadBackAsSent() throws Exception {
    var id = ContentId.of(STACK_TRACE);
    var like = "… [sluice:text:" + id + "]";
    var values =
        new ArrayList<>(
            List.of(
                "",
                "]",
                "short",
                like,
                like + "]",
                like + "]]",
                like + " ",
                like + "\n",
                "a" + like,
                like + like,
                like.toUpperCase(Locale.ROOT),
                like.replace("-", ""),
                "… [sluice:text:]",
                "… [sluice:text:" + "-".repeat(36) + "]",
                TextReference.of(STACK_TRACE) + "",
                TextReference.of(STACK_TRACE) + "]",
                STACK_TRACE,
                STACK_TRACE + like,
                STACK_TRACE + like + "]",
                "x".repeat(LONG_TEXT_THRESHOLD - 1),
                "x".repeat(LONG_TEXT_THRESHOLD),
                "x".repeat(LONG_TEXT_THRESHOLD + 1),
                "x".repeat(64 * 1024),
                "\0".repeat(LONG_TEXT_THRESHOLD)));
    for (var character : List.of("é", "…", "\uD83D\uDE00")) {
      for (int before = 250; before < 260; before++) {
        values.add("x".repeat(before) + character.repeat(LONG_TEXT_THRESHOLD));
      }
    }
    var logEnricher = enricher(cache());
    for (int i = 0; i < 3; i++) {
      var logs = new ArrayList<LogRecord>();
      for (int at = 0; at < values.size(); at++) {
        logs.add(logWithText(i * values.size() + at, values.get(at)));
      }
      store(i < 2 ? logEnricher : enricher(cache(), 0), batchOf(logs.toArray(LogRecord[]::new)));
    }

    var expected = new ArrayList<>(values);
    expected.addAll(values);
    expected.addAll(values);
    assertThat(read(resolvingReader(), query()).stream().map(DictionaryEncoderContract::textOf))
        .containsExactlyElementsOf(expected);
    assertThat(storedTexts()).isNotEqualTo(expected);
    for (var value : storedTexts()) {
      assertThat(new String(value.getBytes(UTF_8), UTF_8)).isEqualTo(value);
      assertThat(value).doesNotContain("\uFFFD");
    }
    // a query for a value finds all its records, however they are stored
    for (int at = 0; at < values.size(); at++) {
      if (values.get(at).length() <= LogFilter.MAX_LENGTH - 4) {
        assertThat(offsetsMatching(Operator.EQUAL, values.get(at)))
            .containsExactly(at, at + values.size(), at + 2 * values.size());
      }
    }
  }

  @Test
  void store_encodingDisabled_keepsTextsInline() throws Exception {
    store(enricher(cache(), 0), batchRepeating(5, STACK_TRACE));

    assertThat(storedTexts()).hasSize(5).containsOnly(STACK_TRACE);
    assertThat(entries(STACK_TRACE)).isEmpty();
  }

  @Test
  void store_textBelowThreshold_staysInline() throws Exception {
    var text = "é".repeat(LONG_TEXT_THRESHOLD / 2 - 1) + "x";

    store(enricher(cache()), batchRepeating(3, text), batchRepeating(3, text + "y"));

    assertThat(storedTexts()).filteredOn(text::equals).hasSize(3);
    assertThat(storedTexts()).filteredOn((text + "y")::equals).hasSize(1);
  }

  // ---- enriched deliveries

  @Test
  void store_slicesOfAnEnrichedDelivery_haveTheIdsOfTheirRecords() throws Exception {
    var batches =
        List.of(
            batchRepeating(3, STACK_TRACE),
            LogBatches.of(
                request(
                    Resource.newBuilder().addAttributes(pair("service.name", string("b"))).build(),
                    List.of(logWithText(3, STACK_TRACE), logWithText(4, "short")))),
            batchOf(logWithText(5, STACK_TRACE)));
    var ids = new RecordIds();
    var written = new FailingDictionary(dictionary());
    var logEnricher =
        enricher(
            new SharedDictionaryCache(new SharedDictionaryCache.CacheSettings(64, 64), written));
    assertThat(logEnricher.enrich(batches, ids)).isEqualTo(new WriteResult.Written());
    assertThat(written.writes).isOne();

    // a bisection, of which one slice is retried, in an order that no walk has
    for (var range :
        List.of(new int[] {4, 6}, new int[] {1, 4}, new int[] {1, 4}, new int[] {0, 1})) {
      assertThat(
              store()
                  .store(
                      new DeliverySlice(
                          "slice " + range[0], batches, range[0], range[1], range[0] > 0),
                      ids))
          .isEqualTo(new StoreResult.Stored());
    }

    var reference = TextReference.of(STACK_TRACE);
    assertThat(storedTexts())
        .containsExactly(STACK_TRACE, reference, reference, reference, "short", reference);
    assertThat(read(query()))
        .extracting(log -> log.resourceId() != null)
        .containsExactly(false, false, false, true, true, false);
    assertThat(written.writes).isOne();
  }

  @Test
  void enrich_corruptBatch_hasNoIdsAndTheOthersHaveTheirs() throws Exception {
    var corrupt = LogBatches.of(2);
    var batches =
        List.of(
            batchRepeating(2, STACK_TRACE),
            new LogBatch(
                corrupt.appendId(),
                corrupt.tenant(),
                corrupt.receivedNanos(),
                corrupt.firstId(),
                2,
                corrupt.expandedBytes(),
                new byte[] {10, 100, 1}),
            batchOf(logWithText(2, STACK_TRACE)));
    var ids = new RecordIds();

    assertThat(enricher(cache()).enrich(batches, ids)).isEqualTo(new WriteResult.Written());

    assertThat(store().store(new DeliverySlice(token(), batches, 0, 5, false), ids))
        .isInstanceOfSatisfying(
            StoreResult.Corrupt.class,
            result -> assertThat(result.appendId()).isEqualTo(corrupt.appendId()));
    assertThat(store().store(new DeliverySlice(token(), batches, 4, 5, true), ids))
        .isEqualTo(new StoreResult.Stored());
    assertThat(storedTexts()).containsExactly(TextReference.of(STACK_TRACE));
  }

  // ---- resources

  @Test
  void store_resourceInAnyOrder_hasOneIdAndOneEntry() throws Exception {
    var name = pair("service.name", string("cart"));
    var port = pair("port", number(8080));
    var nested = pair("labels", map(pair("b", string("<2>")), pair("a", list(bool(true)))));
    var one = Resource.newBuilder().addAttributes(name).addAttributes(port).addAttributes(nested);
    var other =
        Resource.newBuilder()
            .addAttributes(nested)
            .addAttributes(pair("port", number(1)))
            .addAttributes(name)
            .addAttributes(port)
            .setDroppedAttributesCount(7);
    var different = Resource.newBuilder().addAttributes(name).addAttributes(port);
    var set =
        "{\"labels\":\"{\\\"a\\\":[true],\\\"b\\\":\\\"\\\\u003c2\\\\u003e\\\"}\","
            + "\"port\":\"8080\",\"service.name\":\"cart\"}";
    var logEnricher = enricher(cache());

    store(
        logEnricher,
        LogBatches.of(request(one.build(), List.of(log(0), log(1)))),
        LogBatches.of(request(other.build(), List.of(log(2)))),
        LogBatches.of(request(different.build(), List.of(log(3)))),
        batchOf(log(4)));

    var id = ContentId.of(set);
    assertThat(read(query()).subList(0, 3)).extracting(StoredLog::resourceId).containsOnly(id);
    assertThat(read(query()).get(3).resourceId()).isNotNull().isNotEqualTo(id);
    assertThat(read(query()).get(4).resourceId()).isNull();
    assertThat(dictionary().find("default", EntryKind.RESOURCE, List.of(id)))
        .extracting(DictionaryEntry::text)
        .containsExactly(set);
    assertThat(offsets(reader(), query().resourceId(id))).containsExactly(0, 1, 2);
    assertThat(offsets(reader(), query().resourceId(ContentId.of("none")))).isEmpty();
  }

  @Test
  void store_resourcesDisabled_haveNoId() throws Exception {
    var off =
        new DictionaryEncoder(
            null,
            cache().newWorkerCache(),
            new DictionaryEncoder.EncoderSettings(LONG_TEXT_THRESHOLD, false));

    store(off, LogBatches.of(2));

    assertThat(read(query())).hasSize(2).extracting(StoredLog::resourceId).containsOnlyNulls();
  }

  // ---- read values

  @Test
  void read_missingText_showsTheReference() throws Exception {
    store(enricher(cache()), batchRepeating(3, STACK_TRACE));
    var without = new LongTextResolvingReader(reader(), new InMemoryDictionary());

    assertThat(read(without, query()))
        .extracting(DictionaryEncoderContract::textOf)
        .containsExactly(STACK_TRACE, TextReference.of(STACK_TRACE), TextReference.of(STACK_TRACE));
  }

  @Test
  void read_manyLargeTexts_areInPagesOfBoundedSize() throws Exception {
    var texts = IntStream.range(0, 300).mapToObj(i -> i + "x".repeat(65_000)).toList();
    var logEnricher = enricher(cache());
    for (int i = 0; i < 2; i++) {
      for (int from = 0; from < 300; from += 50) {
        var logs = new ArrayList<LogRecord>();
        for (int at = from; at < from + 50; at++) {
          logs.add(logWithText(300 * i + at, texts.get(at)));
        }
        store(logEnricher, batchOf(logs.toArray(LogRecord[]::new)));
      }
    }
    var found = new ArrayList<String>();
    Position after = null;
    int pages = 0;
    do {
      LogPage page =
          resolvingReader()
              .read(
                  query()
                      .from(BASE_NANOS - 599)
                      .to(BASE_NANOS - 299)
                      .limit(10_000)
                      .after(after)
                      .build());
      assertThat(page.logs().stream().mapToLong(log -> textOf(log).length()).sum())
          .isLessThan((16 << 20) + 66_000);
      page.logs().forEach(log -> found.add(textOf(log)));
      after = page.next();
      pages++;
    } while (after != null);

    assertThat(pages).isEqualTo(2);
    assertThat(found).isEqualTo(texts);
  }

  @Test
  void read_byLongValue_findsInlineAndReferencedTexts() throws Exception {
    var other = STACK_TRACE + "other";
    store(
        enricher(cache()),
        batchOf(
            logWithText(0, STACK_TRACE),
            logWithText(1, STACK_TRACE),
            logWithText(2, other),
            logWithText(3, other),
            logWithText(4, "short"),
            log(5)));

    assertThat(offsetsMatching(Operator.EQUAL, STACK_TRACE)).containsExactly(0, 1);
    assertThat(offsetsMatching(Operator.NOT_EQUAL, STACK_TRACE)).containsExactly(2, 3, 4, 5);
    assertThat(offsetsMatching(Operator.IN, other, "short")).containsExactly(2, 3, 4);
    assertThat(offsetsMatching(Operator.IN, other, STACK_TRACE)).containsExactly(0, 1, 2, 3);
    assertThat(offsetsMatching(Operator.EXISTS)).containsExactly(0, 1, 2, 3, 4);
    assertThat(offsetsMatching(Operator.EQUAL, TextReference.of(STACK_TRACE) + "")).isEmpty();
    assertThat(offsetsMatching(Operator.PREFIX, "java.lang.IllegalState"))
        .containsExactly(0, 1, 2, 3);
    assertThat(offsetsMatching(Operator.PREFIX, STACK_TRACE.substring(0, 253)))
        .containsExactly(0, 1, 2, 3);
    assertThat(offsetsMatching(Operator.PREFIX, STACK_TRACE.substring(0, 254)))
        .containsExactly(0, 1, 2, 3);
    assertThat(offsetsMatching(Operator.PREFIX, STACK_TRACE.substring(0, 256) + "…")).isEmpty();
    assertThat(offsetsMatching(Operator.PREFIX, STACK_TRACE)).containsExactly(0, 1, 2, 3);
    assertThat(offsetsMatching(Operator.PREFIX, STACK_TRACE + "o")).containsExactly(2, 3);
    assertThat(offsetsMatching(Operator.PREFIX, STACK_TRACE + "x")).isEmpty();
  }

  @Test
  void read_byLongPrefixOfEmptyKey_findsIt() throws Exception {
    var logs =
        IntStream.range(0, 3)
            .mapToObj(i -> log(i).toBuilder().addAttributes(pair("", string(STACK_TRACE))).build())
            .toArray(LogRecord[]::new);
    store(enricher(cache()), batchOf(logs));

    assertThat(offsets(reader(), query().attribute("", Operator.PREFIX, STACK_TRACE)))
        .containsExactly(0, 1, 2);
    assertThat(offsets(reader(), query().attribute("", Operator.EQUAL, STACK_TRACE)))
        .containsExactly(0, 1, 2);
  }

  /**
   * A value that is stored with an additional bracket must not match a prefix with that bracket.
   */
  @Test
  void read_byPrefixLikeAReference_comparesTheOriginalText() throws Exception {
    var like = "… [sluice:text:" + ContentId.of("x") + "]";
    var behind = "y".repeat(300) + like;
    store(
        enricher(cache()),
        batchOf(
            logWithText(0, like),
            logWithText(1, like + "]"),
            logWithText(2, behind),
            logWithText(3, behind + "]")));

    assertThat(offsetsMatching(Operator.PREFIX, like)).containsExactly(0, 1);
    assertThat(offsetsMatching(Operator.PREFIX, like + "]")).containsExactly(1);
    assertThat(offsetsMatching(Operator.PREFIX, like + "]]")).isEmpty();
    assertThat(offsetsMatching(Operator.PREFIX, behind)).containsExactly(2, 3);
    assertThat(offsetsMatching(Operator.PREFIX, behind + "]")).containsExactly(3);
    assertThat(offsetsMatching(Operator.PREFIX, behind + "]]")).isEmpty();
    assertThat(offsetsMatching(Operator.EQUAL, like + "]")).containsExactly(1);
    assertThat(offsetsMatching(Operator.NOT_EQUAL, like)).containsExactly(1, 2, 3);
  }

  private List<Integer> offsetsMatching(Operator operator, String... values)
      throws InterruptedException {
    return offsets(reader(), query().attribute("text", operator, values));
  }

  private List<Integer> offsets(LogReader from, QueryBuilder query) throws InterruptedException {
    return read(from, query).stream().map(log -> (int) (BASE_NANOS - log.timeNanos())).toList();
  }

  /** A dictionary that counts its writes, and fails while {@code reason} is set. */
  private static final class FailingDictionary implements Dictionary {
    private final Dictionary dictionary;
    private @Nullable String reason;
    private int writes;

    FailingDictionary(Dictionary dictionary) {
      this.dictionary = dictionary;
    }

    @Override
    public WriteResult write(List<DictionaryEntry> entries) throws InterruptedException {
      writes++;
      return reason == null ? dictionary.write(entries) : new WriteResult.Retryable(reason);
    }

    @Override
    public List<DictionaryEntry> find(String tenant, EntryKind kind, Collection<UUID> ids)
        throws InterruptedException {
      return dictionary.find(tenant, kind, ids);
    }

    @Override
    public Dictionary.EntryPage changesSince(
        String tenant, EntryKind kind, @Nullable String after, int limit)
        throws InterruptedException {
      return dictionary.changesSince(tenant, kind, after, limit);
    }
  }
}
