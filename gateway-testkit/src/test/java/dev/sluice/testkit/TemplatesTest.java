package dev.sluice.testkit;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.sluice.core.dictionary.ContentId;
import dev.sluice.core.dictionary.SharedDictionaryCache;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.Dictionary;
import dev.sluice.core.port.Dictionary.DictionaryEntry;
import dev.sluice.core.port.Dictionary.EntryKind;
import dev.sluice.core.port.Dictionary.WriteResult;
import dev.sluice.core.port.LogEnricher;
import dev.sluice.core.templates.CustomMask;
import dev.sluice.core.templates.MinerSettings;
import dev.sluice.core.templates.TemplateRegistry;
import java.util.ArrayList;
import java.util.BitSet;
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

/** What gateways that share a dictionary make of messages, each with a worker of its own. */
final class TemplatesTest {
  private static final long NOON = 1_800_014_400_000_000_000L;

  private final InMemoryDictionary dictionary = new InMemoryDictionary();

  /** One process: its templates, its cache and one worker. */
  private static final class Gateway {
    final TemplateRegistry templates;
    final LogEnricher naming;
    long receivedNanos = NOON;

    Gateway(Dictionary dictionary, MinerSettings settings) {
      templates = new TemplateRegistry(settings, dictionary);
      naming =
          templates.newResolver(
              new SharedDictionaryCache(SharedDictionaryCache.CacheSettings.DEFAULT, dictionary)
                  .newWorkerCache());
    }

    Gateway(Dictionary dictionary) {
      this(dictionary, MinerSettings.defaults());
    }

    UUID name(String tenant, String service, String message) throws InterruptedException {
      naming.beginBatch(batch(tenant, receivedNanos));
      var name = service.getBytes(UTF_8);
      naming.beginService(name, 0, name.length);
      var bytes = message.getBytes(UTF_8);
      naming.resolveTemplate(bytes, 0, bytes.length);
      return new UUID(naming.idHigh(), naming.idLow());
    }

    UUID name(String message) throws InterruptedException {
      return name("acme", "shop", message);
    }

    /** As all of one delivery. */
    UUID deliver(String message) throws InterruptedException {
      var id = name(message);
      assertThat(naming.flush()).isEqualTo(new WriteResult.Written());
      return id;
    }

    /** As of one delivery. */
    Map<String, UUID> deliver(Collection<String> messages) throws InterruptedException {
      var names = new HashMap<String, UUID>();
      for (var message : messages) {
        names.put(message, name(message));
      }
      assertThat(naming.flush()).isEqualTo(new WriteResult.Written());
      return names;
    }
  }

  private static LogBatch batch(String tenant, long receivedNanos) {
    return new LogBatch(
        UUID.randomUUID(), tenant, receivedNanos, new LogId(1, 1), 1, 1, new BitSet(), new byte[0]);
  }

  @Test
  void template_messagesThatDifferInValues_haveOne() throws Exception {
    var gateway = new Gateway(dictionary);

    var one = gateway.name("order 17 took 3 ms");

    assertThat(gateway.name("order 4711 took 18 ms")).isEqualTo(one);
    assertThat(gateway.name("order 17 was lost")).isNotEqualTo(one);
  }

  @Test
  void write_newTemplate_isInTheDictionaryOnce() throws Exception {
    var gateway = new Gateway(dictionary);
    var id = gateway.name("order 17 took 3 ms");

    assertThat(gateway.naming.flush()).isEqualTo(new WriteResult.Written());

    assertThat(dictionary.entries())
        .containsExactly(
            new DictionaryEntry(
                "acme", EntryKind.TEMPLATE, id, "order <*> took <*>", NOON, NOON, null));
    gateway.name("order 18 took 4 ms");
    gateway.naming.flush();
    assertThat(dictionary.writes()).isEqualTo(1);
  }

  @Test
  void write_dictionaryIsAway_saysSoAndWritesTheNextTime() throws Exception {
    var gateway = new Gateway(dictionary);
    gateway.name("order 17 took 3 ms");
    dictionary.answer(new WriteResult.Retryable("away"));
    assertThat(gateway.naming.flush()).isEqualTo(new WriteResult.Retryable("away"));

    dictionary.answer(null);
    var id = gateway.name("order 17 took 3 ms");

    assertThat(gateway.naming.flush()).isEqualTo(new WriteResult.Written());
    assertThat(dictionary.find("acme", EntryKind.TEMPLATE, List.of(id))).hasSize(1);
  }

  @Test
  void write_generalised_bringsTheLinksAlong() throws Exception {
    var gateway = new Gateway(dictionary);
    var ids = gateway.deliver(List.of("login of user ann", "login of user bob"));
    assertThat(new HashSet<>(ids.values())).hasSize(2);

    var third = gateway.deliver("login of user eve");

    var general = resolve(third);
    assertThat(text(general)).isEqualTo("login of user <*>");
    assertThat(ids.values()).extracting(this::resolve).containsOnly(general);
  }

  @Test
  void template_ofAnotherTenant_isItsOwn() throws Exception {
    var gateway = new Gateway(dictionary);
    for (var user : List.of("ann", "bob", "eve")) {
      gateway.name("acme", "shop", "login of user " + user);
    }

    gateway.name("other", "shop", "login of user ann");
    gateway.naming.flush();

    assertThat(dictionary.entries())
        .filteredOn(entry -> entry.tenant().equals("other"))
        .extracting(DictionaryEntry::text)
        .containsExactly("login of user ann");
  }

  @Test
  void template_emptyMessage_hasOneToo() throws Exception {
    var gateway = new Gateway(dictionary);

    var id = gateway.name("");
    gateway.naming.flush();

    assertThat(id).isEqualTo(UUID.fromString("d41d8cd9-8f00-b204-e980-0998ecf8427e"));
    assertThat(text(id)).isEmpty();
  }

  @Test
  void batch_dictionaryCannotTell_failsAndLearnsTheNextTime() throws Exception {
    new Gateway(dictionary).deliver(users());
    var silent = new SilentDictionary(dictionary);
    var gateway = new Gateway(silent);

    assertThatIllegalStateException().isThrownBy(() -> gateway.name("login of user zoe"));

    silent.silent = false;
    assertThat(text(gateway.name("login of user zoe"))).isEqualTo("login of user <*>");
  }

  @Test
  void batch_afterARestart_goesOnWithTheGeneralTemplates() throws Exception {
    new Gateway(dictionary).deliver(users());
    int written = dictionary.entries().size();

    var id = new Gateway(dictionary).deliver("login of user zoe");

    assertThat(text(id)).isEqualTo("login of user <*>");
    assertThat(dictionary.entries()).hasSize(written);
  }

  /** Neither has seen enough by itself. */
  @Test
  void keepUp_whatTwoGatewaysShowTogether_isOneTemplate() throws Exception {
    var one = started();
    var other = started();
    var names = new HashSet<UUID>();
    names.addAll(one.deliver(List.of("login of user ann")).values());
    names.addAll(other.deliver(List.of("login of user bob", "login of user eve")).values());
    assertThat(names.stream().map(this::resolve).distinct()).hasSize(3);

    one.templates.sync();

    assertThat(names.stream().map(this::resolve).map(this::text).distinct())
        .containsExactly("login of user <*>");
    int writes = dictionary.writes();
    other.templates.sync();
    one.templates.sync();
    assertThat(dictionary.writes()).isEqualTo(writes);
    assertThat(other.templates.stats().templates()).isEqualTo(2);
  }

  @Test
  void keepUp_dictionaryTakesNothing_writesTheNextTime() throws Exception {
    var one = started();
    var other = started();
    one.deliver(List.of("login of user ann"));
    var ids = other.deliver(List.of("login of user bob", "login of user eve")).values();
    dictionary.answer(new WriteResult.Retryable("away"));
    one.templates.sync();
    assertThat(ids).extracting(this::resolve).hasSize(2).doesNotHaveDuplicates();

    dictionary.answer(null);
    one.templates.sync();

    assertThat(ids)
        .extracting(this::resolve)
        .extracting(this::text)
        .containsOnly("login of user <*>");
  }

  /** What was found out about old templates says nothing of when they were seen. */
  @Test
  void keepUp_linksOldTemplates_leavesTheirTimes() throws Exception {
    var one = started();
    var other = started();
    one.deliver(List.of("login of user ann"));
    other.deliver(List.of("login of user bob", "login of user eve"));

    one.templates.sync();

    assertThat(dictionary.entries())
        .hasSize(5)
        .allSatisfy(
            entry -> {
              assertThat(entry.firstSeenNanos()).isEqualTo(NOON);
              assertThat(entry.lastSeenNanos()).isEqualTo(NOON);
            });
  }

  /**
   * The same messages in any order, on one gateway or two, with restarts: what belongs together is
   * the same in the end.
   */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void keepUp_anyOrderInstancesAndRestarts_convergeToTheSamePartition(long seed) throws Exception {
    var messages = messages();
    var expected = partition(new Gateway(dictionary).deliver(messages), dictionary);
    var random = new Random(seed);
    var shared = new InMemoryDictionary();
    var gateways = new ArrayList<>(List.of(new Gateway(shared), new Gateway(shared)));
    var shuffled = new ArrayList<>(messages);
    Collections.shuffle(shuffled, random);
    var names = new HashMap<String, UUID>();

    for (int from = 0; from < shuffled.size(); ) {
      int to = Math.min(shuffled.size(), from + 1 + random.nextInt(12));
      int who = random.nextInt(2);
      names.putAll(gateways.get(who).deliver(shuffled.subList(from, to)));
      from = to;
      switch (random.nextInt(4)) {
        case 0 -> gateways.set(who, new Gateway(shared));
        case 1 -> gateways.get(who).templates.sync();
        default -> {} // goes on
      }
    }
    for (int round = 0; round < 3; round++) {
      for (var gateway : gateways) {
        gateway.name("acme", "shop", "it is up"); // or a fresh one would not read the tenant's
        gateway.naming.flush();
        gateway.templates.sync();
      }
    }

    assertThat(partition(names, shared)).isEqualTo(expected);
  }

  @Test
  void template_floodOfUniqueMessages_isOfTheCatchAllAndCounted() throws Exception {
    var gateway = new Gateway(dictionary, new MinerSettings(50, 1 << 20));
    var known = gateway.deliver("it is up");

    var names = gateway.deliver(IntStream.range(0, 5_000).mapToObj(TemplatesTest::words).toList());

    long caught = names.values().stream().filter(id -> text(id).equals("<*>")).count();
    assertThat(caught).isEqualTo(5_000 - 49);
    assertThat(gateway.templates.stats().overflowedLogs()).isEqualTo(caught);
    assertThat(gateway.name("it is up")).isEqualTo(known);
    assertThat(text(gateway.deliver("x"))).isEqualTo("<*>");
    gateway.name("acme", "another", "it went down slowly");
    gateway.naming.flush();
    assertThat(dictionary.entries())
        .extracting(DictionaryEntry::text)
        .contains("it went down slowly");
  }

  /** It has the text of the catch-all, but by right. */
  @Test
  void template_messageThatIsOneValue_isNotCaught() throws Exception {
    var gateway = new Gateway(dictionary);

    assertThat(text(gateway.deliver("4711"))).isEqualTo("<*>");

    assertThat(gateway.templates.stats().overflowedLogs()).isZero();
  }

  @Test
  void template_caughtButNotWritten_isNotCounted() throws Exception {
    var gateway = new Gateway(dictionary, new MinerSettings(1, 1 << 20));
    gateway.deliver("it is up");
    gateway.name("login of user ann");
    dictionary.answer(new WriteResult.Retryable("away"));
    gateway.naming.flush();

    dictionary.answer(null);
    gateway.deliver("login of user ann");

    assertThat(gateway.templates.stats().overflowedLogs()).isEqualTo(1);
  }

  /** On the next day every form is asked for again. */
  @Test
  void template_knownYesterdayInAFlood_isNotCaught() throws Exception {
    var gateway = new Gateway(dictionary, new MinerSettings(2, 1 << 20));
    gateway.deliver("it is up");
    var known = gateway.deliver("it went down slowly");
    gateway.receivedNanos += 86_400_000_000_000L;
    for (int i = 0; i < 11_000; i++) {
      gateway.name(words(i));
    }

    assertThat(gateway.name("it went down slowly")).isEqualTo(known);
    assertThat(gateway.name("acme", "another", "it went up again")).isNotEqualTo(catchAll());
  }

  /** The same message may be of a template by then. */
  @Test
  void template_caughtBefore_isAskedForAgainInTheNextDelivery() throws Exception {
    var gateway = new Gateway(dictionary, new MinerSettings(1, 1 << 20));
    gateway.deliver(List.of("it is up"));
    var caught = gateway.deliver("login of user ann");
    assertThat(text(caught)).isEqualTo("<*>");
    new Gateway(dictionary).deliver(List.of("login of user ann"));

    gateway.templates.sync();

    assertThat(text(gateway.name("login of user ann"))).isEqualTo("login of user ann");
  }

  @Test
  void masks_replaced_countFromTheNextBatchOnForTheirService() throws Exception {
    var gateway = new Gateway(dictionary);
    gateway.name("acme", "shop", "basket of violet");
    gateway.name("acme", "bank", "basket of violet");

    gateway.templates.setCustomMasks(
        List.of(new CustomMask("color", "shop", Pattern.compile("violet"))));
    var masked = gateway.name("acme", "shop", "basket of violet");
    var plain = gateway.name("acme", "bank", "basket of violet");
    gateway.naming.flush();

    assertThat(text(masked)).isEqualTo("basket of <*>");
    assertThat(text(plain)).isEqualTo("basket of violet");
  }

  /** Has read what there was. */
  private Gateway started() throws InterruptedException {
    var gateway = new Gateway(dictionary);
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

  /** Of five statements, some of which show only together which of their words are values. */
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

  /** Tells nothing until it does. */
  private static final class SilentDictionary implements Dictionary {
    private final Dictionary behind;
    private boolean silent = true;

    SilentDictionary(Dictionary behind) {
      this.behind = behind;
    }

    @Override
    public WriteResult write(List<DictionaryEntry> entries) throws InterruptedException {
      return behind.write(entries);
    }

    @Override
    public List<DictionaryEntry> find(String tenant, EntryKind kind, Collection<UUID> ids)
        throws InterruptedException {
      return behind.find(tenant, kind, ids);
    }

    @Override
    public EntryPage changesSince(String tenant, EntryKind kind, @Nullable String after, int limit)
        throws InterruptedException {
      if (silent) {
        throw new IllegalStateException("away");
      }
      return behind.changesSince(tenant, kind, after, limit);
    }
  }
}
