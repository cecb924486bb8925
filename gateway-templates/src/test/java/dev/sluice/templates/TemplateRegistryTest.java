package dev.sluice.templates;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.WriteResult;
import dev.sluice.templates.dictionary.ContentId;
import dev.sluice.templates.dictionary.Dictionary;
import dev.sluice.templates.dictionary.Dictionary.DictionaryEntry;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;
import dev.sluice.templates.dictionary.SharedDictionaryCache;
import dev.sluice.templates.dictionary.WorkerDictionaryCache;
import dev.sluice.testkit.InMemoryDictionary;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the templates of gateways that share a dictionary, each gateway with one worker. */
final class TemplateRegistryTest {
  private static final long NOON = 1_800_014_400_000_000_000L;

  private final InMemoryDictionary dictionary = new InMemoryDictionary();

  /** One gateway process: its template registry, its cache and one worker. */
  private static final class GatewayInstance {
    final TemplateRegistry registry;
    final WorkerDictionaryCache cache;
    final TemplateResolver resolver;
    long receivedNanos = NOON;

    GatewayInstance(Dictionary dictionary, MinerSettings settings) {
      registry = new TemplateRegistry(settings, dictionary);
      cache =
          new SharedDictionaryCache(SharedDictionaryCache.CacheSettings.DEFAULT, dictionary)
              .newWorkerCache();
      resolver = registry.newResolver(cache);
    }

    GatewayInstance(Dictionary dictionary) {
      this(dictionary, MinerSettings.defaults());
    }

    UUID identify(String tenant, String service, String message) throws InterruptedException {
      resolver.beginBatch(batch(tenant, receivedNanos));
      var name = service.getBytes(UTF_8);
      resolver.beginService(name, 0, name.length);
      var bytes = message.getBytes(UTF_8);
      resolver.resolve(bytes, 0, bytes.length);
      return new UUID(cache.idHigh(), cache.idLow());
    }

    UUID identify(String message) throws InterruptedException {
      return identify("acme", "shop", message);
    }

    /** Resolves and flushes the message as one delivery. */
    UUID deliver(String message) throws InterruptedException {
      var id = identify(message);
      assertThat(resolver.flush()).isEqualTo(new WriteResult.Written());
      return id;
    }

    /** Resolves and flushes the messages as one delivery. */
    Map<String, UUID> deliver(Collection<String> messages) throws InterruptedException {
      var names = new HashMap<String, UUID>();
      for (var message : messages) {
        names.put(message, identify(message));
      }
      assertThat(resolver.flush()).isEqualTo(new WriteResult.Written());
      return names;
    }
  }

  private static LogBatch batch(String tenant, long receivedNanos) {
    return new LogBatch(
        UUID.randomUUID(), tenant, receivedNanos, new LogId(1, 1), 1, 1, new byte[0]);
  }

  @Test
  void resolve_messagesDifferingInValues_shareOne() throws Exception {
    var gateway = new GatewayInstance(dictionary);

    var one = gateway.identify("order 17 took 3 ms");

    assertThat(gateway.identify("order 4711 took 18 ms")).isEqualTo(one);
    assertThat(gateway.identify("order 17 was lost")).isNotEqualTo(one);
  }

  @Test
  void flush_newTemplate_isInTheDictionaryOnce() throws Exception {
    var gateway = new GatewayInstance(dictionary);
    var id = gateway.identify("order 17 took 3 ms");

    assertThat(gateway.resolver.flush()).isEqualTo(new WriteResult.Written());

    assertThat(dictionary.entries())
        .containsExactly(
            new DictionaryEntry(
                "acme", EntryKind.TEMPLATE, id, "order <*> took <*>", NOON, NOON, null));
    gateway.identify("order 18 took 4 ms");
    gateway.resolver.flush();
    assertThat(dictionary.writes()).isEqualTo(1);
  }

  @Test
  void flush_dictionaryUnavailable_isRetryableAndWritesTheNextTime() throws Exception {
    var gateway = new GatewayInstance(dictionary);
    gateway.identify("order 17 took 3 ms");
    dictionary.setOutcome(new WriteResult.Retryable("away"));
    assertThat(gateway.resolver.flush()).isEqualTo(new WriteResult.Retryable("away"));

    dictionary.setOutcome(null);
    var id = gateway.identify("order 17 took 3 ms");

    assertThat(gateway.resolver.flush()).isEqualTo(new WriteResult.Written());
    assertThat(dictionary.find("acme", EntryKind.TEMPLATE, List.of(id))).hasSize(1);
  }

  @Test
  void flush_generalizedTemplate_writesItsLinks() throws Exception {
    var gateway = new GatewayInstance(dictionary);
    var ids = gateway.deliver(List.of("login of user ann", "login of user bob"));
    assertThat(new HashSet<>(ids.values())).hasSize(2);

    var third = gateway.deliver("login of user eve");

    var general = resolve(third);
    assertThat(text(general)).isEqualTo("login of user <*>");
    assertThat(ids.values()).extracting(this::resolve).containsOnly(general);
  }

  @Test
  void resolve_ofAnotherTenant_isSeparate() throws Exception {
    var gateway = new GatewayInstance(dictionary);
    for (var user : List.of("ann", "bob", "eve")) {
      gateway.identify("acme", "shop", "login of user " + user);
    }

    gateway.identify("other", "shop", "login of user ann");
    gateway.resolver.flush();

    assertThat(dictionary.entries())
        .filteredOn(entry -> entry.tenant().equals("other"))
        .extracting(DictionaryEntry::text)
        .containsExactly("login of user ann");
  }

  @Test
  void resolve_emptyMessage_hasATemplate() throws Exception {
    var gateway = new GatewayInstance(dictionary);

    var id = gateway.identify("");
    gateway.resolver.flush();

    assertThat(id).isEqualTo(UUID.fromString("d41d8cd9-8f00-b204-e980-0998ecf8427e"));
    assertThat(text(id)).isEmpty();
  }

  @Test
  void beginBatch_dictionaryUnavailable_failsAndLoadsTheNextTime() throws Exception {
    new GatewayInstance(dictionary).deliver(users());
    var silent = new UnavailableDictionary(dictionary);
    var gateway = new GatewayInstance(silent);

    assertThatIllegalStateException().isThrownBy(() -> gateway.identify("login of user zoe"));

    silent.unavailable = false;
    assertThat(text(gateway.identify("login of user zoe"))).isEqualTo("login of user <*>");
  }

  @Test
  void beginBatch_afterRestart_continuesWithTheGeneralTemplates() throws Exception {
    new GatewayInstance(dictionary).deliver(users());
    int written = dictionary.entries().size();

    var id = new GatewayInstance(dictionary).deliver("login of user zoe");

    assertThat(text(id)).isEqualTo("login of user <*>");
    assertThat(dictionary.entries()).hasSize(written);
  }

  /** Neither gateway has enough messages by itself. */
  @Test
  void sync_messagesOfTwoGateways_becomeOneTemplate() throws Exception {
    var one = startGateway();
    var other = startGateway();
    var names = new HashSet<UUID>();
    names.addAll(one.deliver(List.of("login of user ann")).values());
    names.addAll(other.deliver(List.of("login of user bob", "login of user eve")).values());
    assertThat(names.stream().map(this::resolve).distinct()).hasSize(3);

    one.registry.sync();

    assertThat(names.stream().map(this::resolve).map(this::text).distinct())
        .containsExactly("login of user <*>");
    int writes = dictionary.writes();
    other.registry.sync();
    one.registry.sync();
    assertThat(dictionary.writes()).isEqualTo(writes);
    assertThat(other.registry.stats().templates()).isEqualTo(2);
  }

  @Test
  void sync_dictionaryWriteFails_writesTheNextTime() throws Exception {
    var one = startGateway();
    var other = startGateway();
    one.deliver(List.of("login of user ann"));
    var ids = other.deliver(List.of("login of user bob", "login of user eve")).values();
    dictionary.setOutcome(new WriteResult.Retryable("away"));
    one.registry.sync();
    assertThat(ids).extracting(this::resolve).hasSize(2).doesNotHaveDuplicates();

    dictionary.setOutcome(null);
    one.registry.sync();

    assertThat(ids)
        .extracting(this::resolve)
        .extracting(this::text)
        .containsOnly("login of user <*>");
  }

  /** A link of an old template must not change the times when it was seen. */
  @Test
  void sync_oldTemplatesLinked_preservesTheirTimes() throws Exception {
    var one = startGateway();
    var other = startGateway();
    one.deliver(List.of("login of user ann"));
    other.deliver(List.of("login of user bob", "login of user eve"));

    one.registry.sync();

    assertThat(dictionary.entries())
        .hasSize(5)
        .allSatisfy(
            entry -> {
              assertThat(entry.firstSeenNanos()).isEqualTo(NOON);
              assertThat(entry.lastSeenNanos()).isEqualTo(NOON);
            });
  }

  /**
   * The same messages in any order, on one gateway or two, with restarts, result in the same groups
   * of messages.
   */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void sync_anyOrderInstancesAndRestarts_convergeToTheSamePartition(long seed) throws Exception {
    var messages = messages();
    var expected = partition(new GatewayInstance(dictionary).deliver(messages), dictionary);
    var random = new Random(seed);
    var shared = new InMemoryDictionary();
    var gateways =
        new ArrayList<>(List.of(new GatewayInstance(shared), new GatewayInstance(shared)));
    var shuffled = new ArrayList<>(messages);
    Collections.shuffle(shuffled, random);
    var names = new HashMap<String, UUID>();

    for (int from = 0; from < shuffled.size(); ) {
      int to = Math.min(shuffled.size(), from + 1 + random.nextInt(12));
      int who = random.nextInt(2);
      names.putAll(gateways.get(who).deliver(shuffled.subList(from, to)));
      from = to;
      switch (random.nextInt(4)) {
        case 0 -> gateways.set(who, new GatewayInstance(shared));
        case 1 -> gateways.get(who).registry.sync();
        default -> {} // no restart
      }
    }
    for (int round = 0; round < 3; round++) {
      for (var gateway : gateways) {
        // otherwise a new gateway would not load the templates of the tenant
        gateway.identify("acme", "shop", "it is up");
        gateway.resolver.flush();
        gateway.registry.sync();
      }
    }

    assertThat(partition(names, shared)).isEqualTo(expected);
  }

  @Test
  void resolve_floodOfUniqueMessages_overflowsAndIsCounted() throws Exception {
    var gateway = new GatewayInstance(dictionary, new MinerSettings(50, 1 << 20));
    var known = gateway.deliver("it is up");

    var names =
        gateway.deliver(IntStream.range(0, 5_000).mapToObj(TemplateRegistryTest::words).toList());

    long overflowed = names.values().stream().filter(id -> text(id).equals("<*>")).count();
    assertThat(overflowed).isEqualTo(5_000 - 49);
    assertThat(gateway.registry.stats().overflowedLogs()).isEqualTo(overflowed);
    assertThat(gateway.identify("it is up")).isEqualTo(known);
    assertThat(text(gateway.deliver("x"))).isEqualTo("<*>");
    gateway.identify("acme", "another", "it went down slowly");
    gateway.resolver.flush();
    assertThat(dictionary.entries())
        .extracting(DictionaryEntry::text)
        .contains("it went down slowly");
  }

  /** It has the text of the catch-all template, but it is not an overflow. */
  @Test
  void resolve_messageThatIsOneValue_doesNotOverflow() throws Exception {
    var gateway = new GatewayInstance(dictionary);

    assertThat(text(gateway.deliver("4711"))).isEqualTo("<*>");

    assertThat(gateway.registry.stats().overflowedLogs()).isZero();
  }

  @Test
  void resolve_overflowedButNotFlushed_isNotCounted() throws Exception {
    var gateway = new GatewayInstance(dictionary, new MinerSettings(1, 1 << 20));
    gateway.deliver("it is up");
    gateway.identify("login of user ann");
    dictionary.setOutcome(new WriteResult.Retryable("away"));
    gateway.resolver.flush();

    dictionary.setOutcome(null);
    gateway.deliver("login of user ann");

    assertThat(gateway.registry.stats().overflowedLogs()).isEqualTo(1);
  }

  /** On the next day every template is looked up again. */
  @Test
  void resolve_knownYesterdayInAFlood_doesNotOverflow() throws Exception {
    var gateway = new GatewayInstance(dictionary, new MinerSettings(2, 1 << 20));
    gateway.deliver("it is up");
    var known = gateway.deliver("it went down slowly");
    gateway.receivedNanos += 86_400_000_000_000L;
    for (int i = 0; i < 11_000; i++) {
      gateway.identify(words(i));
    }

    assertThat(gateway.identify("it went down slowly")).isEqualTo(known);
    assertThat(gateway.identify("acme", "another", "it went up again")).isNotEqualTo(catchAll());
  }

  /** The same message may have a template by then. */
  @Test
  void resolve_overflowedBefore_isResolvedAgainInTheNextDelivery() throws Exception {
    var gateway = new GatewayInstance(dictionary, new MinerSettings(1, 1 << 20));
    gateway.deliver(List.of("it is up"));
    var overflowed = gateway.deliver("login of user ann");
    assertThat(text(overflowed)).isEqualTo("<*>");
    new GatewayInstance(dictionary).deliver(List.of("login of user ann"));

    gateway.registry.sync();

    assertThat(text(gateway.identify("login of user ann"))).isEqualTo("login of user ann");
  }

  @Test
  void setCustomMasks_replaced_applyFromTheNextBatchToTheirService() throws Exception {
    var gateway = new GatewayInstance(dictionary);
    gateway.identify("acme", "shop", "basket of violet");
    gateway.identify("acme", "bank", "basket of violet");

    gateway.registry.setCustomMasks(
        List.of(new CustomMask("color", "shop", Pattern.compile("violet"))));
    var masked = gateway.identify("acme", "shop", "basket of violet");
    var plain = gateway.identify("acme", "bank", "basket of violet");
    gateway.resolver.flush();

    assertThat(text(masked)).isEqualTo("basket of <*>");
    assertThat(text(plain)).isEqualTo("basket of violet");
  }

  /** Starts a gateway that has loaded the templates. */
  private GatewayInstance startGateway() throws InterruptedException {
    var gateway = new GatewayInstance(dictionary);
    gateway.deliver("it is up");
    return gateway;
  }

  private static UUID catchAll() {
    return ContentId.of("<*>");
  }

  private String text(UUID id) {
    return dictionary.find("acme", EntryKind.TEMPLATE, List.of(id)).getFirst().text();
  }

  private UUID resolve(UUID id) {
    return resolve(id, dictionary);
  }

  private static UUID resolve(UUID id, Dictionary dictionary) {
    try {
      var entry = dictionary.find("acme", EntryKind.TEMPLATE, List.of(id)).getFirst();
      var into = entry.mergedInto();
      return into == null ? id : resolve(into, dictionary);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static Set<Set<String>> partition(Map<String, UUID> names, Dictionary dictionary) {
    return new HashSet<>(
        names.entrySet().stream()
            .collect(
                Collectors.groupingBy(
                    name -> resolve(name.getValue(), dictionary),
                    Collectors.mapping(Map.Entry::getKey, Collectors.toSet())))
            .values());
  }

  private static List<String> users() {
    return List.of("login of user ann", "login of user bob", "login of user eve");
  }

  /**
   * Returns messages of five log statements; only together do some of them show which words are
   * values.
   */
  private static List<String> messages() {
    var messages = new ArrayList<String>();
    for (int i = 0; i < 24; i++) {
      messages.add("login of user " + letters(i));
      messages.add("login of user " + letters(i) + " refused by host " + letters(i / 3));
      messages.add("state=" + letters(i % 6) + " after " + i + " ms");
      messages.add("queue " + letters(i % 2) + " has a backlog");
      messages.add("it took " + i + " tries to reach " + letters(i) + ".eu.example.org");
    }
    return messages;
  }

  private static String letters(int i) {
    return "w" + (char) ('a' + i % 26) + (char) ('a' + i / 26 % 26) + (char) ('a' + i / 676);
  }

  private static String words(int i) {
    return letters(i) + " " + letters(i * 7) + " happened at first";
  }

  /** A dictionary that fails until it is made available. */
  private static final class UnavailableDictionary implements Dictionary {
    private final Dictionary delegate;
    private boolean unavailable = true;

    UnavailableDictionary(Dictionary behind) {
      this.delegate = behind;
    }

    @Override
    public WriteResult write(List<DictionaryEntry> entries) throws InterruptedException {
      return delegate.write(entries);
    }

    @Override
    public List<DictionaryEntry> find(String tenant, EntryKind kind, Collection<UUID> ids)
        throws InterruptedException {
      return delegate.find(tenant, kind, ids);
    }

    @Override
    public EntryPage changesSince(String tenant, EntryKind kind, @Nullable String after, int limit)
        throws InterruptedException {
      if (unavailable) {
        throw new IllegalStateException("away");
      }
      return delegate.changesSince(tenant, kind, after, limit);
    }
  }
}
