package dev.sluice.testkit;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.delivery.DictionaryEncoder;
import dev.sluice.core.dictionary.ContentId;
import dev.sluice.core.dictionary.SharedDictionaryCache;
import dev.sluice.core.dictionary.TextReference;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.Dictionary;
import dev.sluice.core.port.Dictionary.DictionaryEntry;
import dev.sluice.core.port.Dictionary.EntryKind;
import dev.sluice.core.port.LogEnricher;
import dev.sluice.core.port.LogReader;
import dev.sluice.core.port.LogReader.LogPage;
import dev.sluice.core.port.LogReader.Position;
import dev.sluice.core.port.LogReader.StoredLog;
import dev.sluice.core.port.LogStore.DeliverySlice;
import dev.sluice.core.port.LogStore.StoreResult;
import dev.sluice.core.query.AttributeCondition.Operator;
import dev.sluice.core.query.LogFilter;
import dev.sluice.core.read.LongTextResolvingReader;
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
 * What a store and its dictionary keep to together: long texts are kept once, and come back as they
 * were sent. Each test begins with an empty store and an empty dictionary.
 */
public abstract class SharedTextsContract extends LogContract {
  private static final int LONG = 1024;

  private static final String TRACE_OF_STACK =
      "java.lang.IllegalStateException: no connection is free\n"
          + IntStream.range(0, 80)
              .mapToObj(i -> "\tat com.example.Pool.step%d(Pool.java:%d)\n".formatted(i, 40 + i))
              .reduce("", String::concat);

  /** Where the store's texts are. */
  protected abstract Dictionary dictionary();

  private SharedDictionaryCache cache() {
    return new SharedDictionaryCache(
        new SharedDictionaryCache.CacheSettings(1024, 1024), dictionary());
  }

  private static LogEnricher naming(SharedDictionaryCache cache) {
    return naming(cache, LONG);
  }

  private static LogEnricher naming(SharedDictionaryCache cache, int longText) {
    return new DictionaryEncoder(
        LogEnricher.NONE,
        cache.newWorkerCache(),
        new DictionaryEncoder.EncoderSettings(longText, true));
  }

  private LogReader whole() {
    return new LongTextResolvingReader(reader(), dictionary());
  }

  private void store(LogEnricher naming, LogBatch... batches) throws InterruptedException {
    assertThat(store().store(portion(batches), naming)).isEqualTo(new StoreResult.Stored());
  }

  private static DeliverySlice portion(LogBatch... batches) {
    int records = List.of(batches).stream().mapToInt(LogBatch::records).sum();
    return new DeliverySlice(token(), List.of(batches), 0, records, false);
  }

  private static LogRecord with(int nanosBefore, String value) {
    return log(nanosBefore).toBuilder().addAttributes(pair("text", string(value))).build();
  }

  private static LogBatch times(int logs, String value) {
    return of(IntStream.range(0, logs).mapToObj(i -> with(i, value)).toArray(LogRecord[]::new));
  }

  /** The values as they are stored, newest first. */
  private List<String> stored() throws InterruptedException {
    return read(query().limit(10_000)).stream().map(SharedTextsContract::text).toList();
  }

  private static String text(StoredLog log) {
    return log.attributes().getOrDefault("text", "none");
  }

  private List<DictionaryEntry> entries(String... texts) throws InterruptedException {
    return dictionary()
        .find("default", EntryKind.TEXT, List.of(texts).stream().map(ContentId::of).toList());
  }

  private List<StoredLog> read(LogReader from, Asking asking) throws InterruptedException {
    return from.read(asking.build()).logs();
  }

  // ---- what is stored

  @Test
  void store_longTextAThousandTimes_isKeptOnceAndReadBackWhole() throws Exception {
    store(naming(cache()), times(1000, TRACE_OF_STACK));

    assertThat(stored())
        .containsExactlyElementsOf(
            IntStream.range(0, 1000)
                .mapToObj(i -> i == 0 ? TRACE_OF_STACK : TextReference.of(TRACE_OF_STACK))
                .toList());
    assertThat(stored().getLast())
        .startsWith(TRACE_OF_STACK.substring(0, 250))
        .endsWith("… [sluice:text:" + ContentId.of(TRACE_OF_STACK) + "]")
        .hasSizeLessThan(TextReference.MAX_REFERENCE_BYTES);
    assertThat(entries(TRACE_OF_STACK))
        .extracting(DictionaryEntry::text)
        .containsExactly(TRACE_OF_STACK);
    assertThat(read(whole(), query()))
        .hasSize(1000)
        .allSatisfy(log -> assertThat(text(log)).isEqualTo(TRACE_OF_STACK));
  }

  @Test
  void store_longTextsThatComeOnce_stayWhereTheyAre() throws Exception {
    var texts = IntStream.range(0, 20).mapToObj(i -> i + TRACE_OF_STACK).toArray(String[]::new);
    var batch =
        of(IntStream.range(0, 20).mapToObj(i -> with(i, texts[i])).toArray(LogRecord[]::new));
    var logEnricher = naming(cache());

    store(logEnricher, batch);
    // the same logs once more, as after a failure
    assertThat(store().store(new DeliverySlice(token(), List.of(batch), 0, 20, true), logEnricher))
        .isEqualTo(new StoreResult.Stored());

    assertThat(stored()).containsExactly(texts);
    assertThat(entries(texts)).isEmpty();
  }

  @Test
  void store_theSameLogsTriedAgain_areNoRepetition() throws Exception {
    var failing = new Failing(dictionary());
    var logEnricher =
        naming(new SharedDictionaryCache(new SharedDictionaryCache.CacheSettings(64, 64), failing));
    var once = with(2, "once " + TRACE_OF_STACK);
    var batch = of(with(0, TRACE_OF_STACK), with(1, TRACE_OF_STACK), once);

    failing.reason = "not now";
    for (int i = 0; i < 3; i++) {
      assertThat(store().store(portion(batch), logEnricher))
          .isInstanceOf(StoreResult.Retryable.class);
    }
    assertThat(stored()).isEmpty();
    assertThat(entries(TRACE_OF_STACK)).isEmpty();

    failing.reason = null;
    store(logEnricher, batch);

    assertThat(stored())
        .containsExactly(
            TRACE_OF_STACK, TextReference.of(TRACE_OF_STACK), "once " + TRACE_OF_STACK);
    assertThat(entries(TRACE_OF_STACK, "once " + TRACE_OF_STACK)).hasSize(1);
  }

  @Test
  void store_anotherServiceAndAnotherTenant_shareWithinTheTenant() throws Exception {
    var logEnricher = naming(cache());
    var ours = times(2, TRACE_OF_STACK);
    var theirs =
        new LogBatch(
            UUID.randomUUID(),
            "acme",
            ours.receivedNanos(),
            ours.firstId().plus(1_000_000),
            2,
            ours.expandedBytes(),
            ours.excludedOrdinals(),
            ours.otlp());

    store(logEnricher, ours, theirs);

    assertThat(read(whole(), query().tenant("acme")))
        .hasSize(2)
        .allSatisfy(log -> assertThat(text(log)).isEqualTo(TRACE_OF_STACK));
    assertThat(dictionary().find("acme", EntryKind.TEXT, List.of(ContentId.of(TRACE_OF_STACK))))
        .hasSize(1);
    assertThat(read(query().tenant("acme")))
        .extracting(SharedTextsContract::text)
        .containsExactly(TRACE_OF_STACK, TextReference.of(TRACE_OF_STACK));
  }

  @Test
  void store_afterARestart_goesOnWithTheSameText() throws Exception {
    store(naming(cache()), times(3, TRACE_OF_STACK));

    store(naming(cache()), times(3, TRACE_OF_STACK));

    assertThat(stored()).filteredOn(TRACE_OF_STACK::equals).hasSize(2);
    assertThat(entries(TRACE_OF_STACK)).hasSize(1);
    assertThat(read(whole(), query()))
        .hasSize(6)
        .allSatisfy(log -> assertThat(text(log)).isEqualTo(TRACE_OF_STACK));
  }

  @Test
  void store_twoWorkersAtOnce_keepOneText() throws Exception {
    var cache = cache();
    try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
      var tasks =
          IntStream.range(0, 4)
              .<Callable<StoreResult>>mapToObj(
                  _ -> () -> store().store(portion(times(50, TRACE_OF_STACK)), naming(cache)))
              .toList();
      for (var outcome : threads.invokeAll(tasks)) {
        assertThat(outcome.get()).isEqualTo(new StoreResult.Stored());
      }
    }

    assertThat(entries(TRACE_OF_STACK)).hasSize(1);
    assertThat(read(whole(), query()))
        .hasSize(200)
        .allSatisfy(log -> assertThat(text(log)).isEqualTo(TRACE_OF_STACK));
  }

  /** Each once, again, and a third time by another process. */
  @Test
  void store_anyValue_comesBackAsSent() throws Exception {
    var id = ContentId.of(TRACE_OF_STACK);
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
                TextReference.of(TRACE_OF_STACK) + "",
                TextReference.of(TRACE_OF_STACK) + "]",
                TRACE_OF_STACK,
                TRACE_OF_STACK + like,
                TRACE_OF_STACK + like + "]",
                "x".repeat(LONG - 1),
                "x".repeat(LONG),
                "x".repeat(LONG + 1),
                "x".repeat(64 * 1024),
                "\0".repeat(LONG)));
    for (var character : List.of("é", "…", "\uD83D\uDE00")) {
      for (int before = 250; before < 260; before++) {
        values.add("x".repeat(before) + character.repeat(LONG));
      }
    }
    var logEnricher = naming(cache());
    for (int i = 0; i < 3; i++) {
      var logs = new ArrayList<LogRecord>();
      for (int at = 0; at < values.size(); at++) {
        logs.add(with(i * values.size() + at, values.get(at)));
      }
      store(i < 2 ? logEnricher : naming(cache(), 0), of(logs.toArray(LogRecord[]::new)));
    }

    var expected = new ArrayList<>(values);
    expected.addAll(values);
    expected.addAll(values);
    assertThat(read(whole(), query()).stream().map(SharedTextsContract::text))
        .containsExactlyElementsOf(expected);
    assertThat(stored()).isNotEqualTo(expected);
    for (var value : stored()) {
      assertThat(new String(value.getBytes(UTF_8), UTF_8)).isEqualTo(value);
      assertThat(value).doesNotContain("\uFFFD");
    }
    // whoever asks for one is given all that are it, however they are stored
    for (int at = 0; at < values.size(); at++) {
      if (values.get(at).length() <= LogFilter.MAX_LENGTH - 4) {
        assertThat(asked(Operator.EQUAL, values.get(at)))
            .containsExactly(at, at + values.size(), at + 2 * values.size());
      }
    }
  }

  @Test
  void store_switchedOff_keepsAllWhereItIs() throws Exception {
    store(naming(cache(), 0), times(5, TRACE_OF_STACK));

    assertThat(stored()).hasSize(5).containsOnly(TRACE_OF_STACK);
    assertThat(entries(TRACE_OF_STACK)).isEmpty();
  }

  @Test
  void store_textUnderTheLimit_staysWhereItIs() throws Exception {
    var text = "é".repeat(LONG / 2 - 1) + "x";

    store(naming(cache()), times(3, text), times(3, text + "y"));

    assertThat(stored()).filteredOn(text::equals).hasSize(3);
    assertThat(stored()).filteredOn((text + "y")::equals).hasSize(1);
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
    var logEnricher = naming(cache());

    store(
        logEnricher,
        LogBatches.of(request(one.build(), List.of(log(0), log(1)))),
        LogBatches.of(request(other.build(), List.of(log(2)))),
        LogBatches.of(request(different.build(), List.of(log(3)))),
        of(log(4)));

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
  void store_resourcesSwitchedOff_haveNoId() throws Exception {
    var off =
        new DictionaryEncoder(
            LogEnricher.NONE,
            cache().newWorkerCache(),
            new DictionaryEncoder.EncoderSettings(LONG, false));

    store(off, LogBatches.of(2));

    assertThat(read(query())).hasSize(2).extracting(StoredLog::resourceId).containsOnlyNulls();
  }

  // ---- what is read

  @Test
  void read_textThatIsNotThere_showsTheReference() throws Exception {
    store(naming(cache()), times(3, TRACE_OF_STACK));
    var without = new LongTextResolvingReader(reader(), new InMemoryDictionary());

    assertThat(read(without, query()))
        .extracting(SharedTextsContract::text)
        .containsExactly(
            TRACE_OF_STACK, TextReference.of(TRACE_OF_STACK), TextReference.of(TRACE_OF_STACK));
  }

  @Test
  void read_manyLargeTexts_comeInPagesOfBoundedSize() throws Exception {
    var texts = IntStream.range(0, 300).mapToObj(i -> i + "x".repeat(65_000)).toList();
    var logEnricher = naming(cache());
    for (int i = 0; i < 2; i++) {
      for (int from = 0; from < 300; from += 50) {
        var logs = new ArrayList<LogRecord>();
        for (int at = from; at < from + 50; at++) {
          logs.add(with(300 * i + at, texts.get(at)));
        }
        store(logEnricher, of(logs.toArray(LogRecord[]::new)));
      }
    }
    var found = new ArrayList<String>();
    Position after = null;
    int pages = 0;
    do {
      LogPage page =
          whole().read(query().from(NOON - 599).to(NOON - 299).limit(10_000).after(after).build());
      assertThat(page.logs().stream().mapToLong(log -> text(log).length()).sum())
          .isLessThan((16 << 20) + 66_000);
      page.logs().forEach(log -> found.add(text(log)));
      after = page.next();
      pages++;
    } while (after != null);

    assertThat(pages).isEqualTo(2);
    assertThat(found).isEqualTo(texts);
  }

  @Test
  void read_byLongValue_findsItWhereverItIs() throws Exception {
    var other = TRACE_OF_STACK + "other";
    store(
        naming(cache()),
        of(
            with(0, TRACE_OF_STACK),
            with(1, TRACE_OF_STACK),
            with(2, other),
            with(3, other),
            with(4, "short"),
            log(5)));

    assertThat(asked(Operator.EQUAL, TRACE_OF_STACK)).containsExactly(0, 1);
    assertThat(asked(Operator.NOT_EQUAL, TRACE_OF_STACK)).containsExactly(2, 3, 4, 5);
    assertThat(asked(Operator.IN, other, "short")).containsExactly(2, 3, 4);
    assertThat(asked(Operator.IN, other, TRACE_OF_STACK)).containsExactly(0, 1, 2, 3);
    assertThat(asked(Operator.EXISTS)).containsExactly(0, 1, 2, 3, 4);
    assertThat(asked(Operator.EQUAL, TextReference.of(TRACE_OF_STACK) + "")).isEmpty();
    assertThat(asked(Operator.PREFIX, "java.lang.IllegalState")).containsExactly(0, 1, 2, 3);
    assertThat(asked(Operator.PREFIX, TRACE_OF_STACK.substring(0, 253)))
        .containsExactly(0, 1, 2, 3);
    assertThat(asked(Operator.PREFIX, TRACE_OF_STACK.substring(0, 254)))
        .containsExactly(0, 1, 2, 3);
    assertThat(asked(Operator.PREFIX, TRACE_OF_STACK.substring(0, 256) + "…")).isEmpty();
    assertThat(asked(Operator.PREFIX, TRACE_OF_STACK)).containsExactly(0, 1, 2, 3);
    assertThat(asked(Operator.PREFIX, TRACE_OF_STACK + "o")).containsExactly(2, 3);
    assertThat(asked(Operator.PREFIX, TRACE_OF_STACK + "x")).isEmpty();
  }

  @Test
  void read_byLongPrefixOfTheNamelessAttribute_findsIt() throws Exception {
    var logs =
        IntStream.range(0, 3)
            .mapToObj(
                i -> log(i).toBuilder().addAttributes(pair("", string(TRACE_OF_STACK))).build())
            .toArray(LogRecord[]::new);
    store(naming(cache()), of(logs));

    assertThat(offsets(reader(), query().attribute("", Operator.PREFIX, TRACE_OF_STACK)))
        .containsExactly(0, 1, 2);
    assertThat(offsets(reader(), query().attribute("", Operator.EQUAL, TRACE_OF_STACK)))
        .containsExactly(0, 1, 2);
  }

  /** A value that is stored with one bracket more does not begin with that. */
  @Test
  void read_byPrefixLikeAReference_comparesWhatWasSent() throws Exception {
    var like = "… [sluice:text:" + ContentId.of("x") + "]";
    var behind = "y".repeat(300) + like;
    store(
        naming(cache()),
        of(with(0, like), with(1, like + "]"), with(2, behind), with(3, behind + "]")));

    assertThat(asked(Operator.PREFIX, like)).containsExactly(0, 1);
    assertThat(asked(Operator.PREFIX, like + "]")).containsExactly(1);
    assertThat(asked(Operator.PREFIX, like + "]]")).isEmpty();
    assertThat(asked(Operator.PREFIX, behind)).containsExactly(2, 3);
    assertThat(asked(Operator.PREFIX, behind + "]")).containsExactly(3);
    assertThat(asked(Operator.PREFIX, behind + "]]")).isEmpty();
    assertThat(asked(Operator.EQUAL, like + "]")).containsExactly(1);
    assertThat(asked(Operator.NOT_EQUAL, like)).containsExactly(1, 2, 3);
  }

  private List<Integer> asked(Operator operator, String... values) throws InterruptedException {
    return offsets(reader(), query().attribute("text", operator, values));
  }

  private List<Integer> offsets(LogReader from, Asking asking) throws InterruptedException {
    return read(from, asking).stream().map(log -> (int) (NOON - log.timeNanos())).toList();
  }

  /** Fails as long as there is a reason. */
  private static final class Failing implements Dictionary {
    private final Dictionary dictionary;
    private @Nullable String reason;

    Failing(Dictionary dictionary) {
      this.dictionary = dictionary;
    }

    @Override
    public Dictionary.WriteResult write(List<DictionaryEntry> entries) throws InterruptedException {
      return reason == null
          ? dictionary.write(entries)
          : new Dictionary.WriteResult.Retryable(reason);
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
