package dev.sluice.redis;

import static dev.sluice.redis.Script.number;
import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.stream.Collectors.toSet;

import dev.sluice.core.delivery.DeliveryAccumulator;
import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.SpoolConsumer;
import io.lettuce.core.Consumer;
import io.lettuce.core.Limit;
import io.lettuce.core.Range;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.models.stream.PendingMessage;
import io.lettuce.core.output.NestedMultiOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Deliveries of one shard, as one consumer of its group.
 *
 * <p>What was read and not settled is this consumer's <em>pending list</em>, in Redis. Before a
 * delivery is handed out, its entries get a <em>mark</em> there, in the place of the number of
 * times that each was delivered: a random number, too large for a count. Entries of one mark are
 * one delivery, whoever reads them next and whatever the bounds are then. The count can be written
 * also when Redis is full, and stays with the entry when another consumer takes over.
 *
 * <p>The list is read again whenever it may hold something unknown here: at the start, after a
 * delivery that was not settled, after a failure, after taking over from a dead consumer. New
 * entries are read only when it holds nothing to deliver. Entries without a mark were read and
 * never handed out, or left by a release that knew no marks; deliveries are made of them afresh.
 *
 * <p>An entry that cannot be read stays pending, is passed over, and is counted in {@link
 * #unreadable}: a release that can read it will.
 *
 * <p>For one thread at a time, but for {@link #unreadable} and {@link #close}. Blocking reads use a
 * connection of their own.
 */
public final class RedisDeliveries implements SpoolConsumer {

  /**
   * An entry as it was read.
   *
   * @param envelope null when the entry is deleted
   * @param again whether it may be stored already, or come from elsewhere too
   */
  private record Raw(EntryId id, byte @Nullable [] envelope, boolean again) {}

  /** What came of one read; {@code more} when there may be more of the same. */
  private record Page(List<Raw> entries, boolean more) {}

  /**
   * An entry of the pending list.
   *
   * @param mark of its delivery; {@link #NO_MARK} when it is part of none
   */
  private record Pending(EntryId id, long mark) {}

  /** What to hand out, once it is recorded. */
  private record Found(DeliveryAccumulator<EntryId> gathering, long mark, boolean again) {}

  /** A delivery that is out, and what it was made of: an id for each batch. */
  private record HandedOut(Delivery delivery, List<EntryId> ids, long mark) {}

  private static final Logger LOG = LoggerFactory.getLogger(RedisDeliveries.class);

  private static final byte[] NEW = {'>'};

  /** Marks begin where no count of deliveries gets to, and end where Lua still counts exactly. */
  private static final long MARKS_FROM = 1L << 20;

  private static final long MARKS_TO = 1L << 50;
  private static final long NO_MARK = 0;

  /** A recorded delivery is what it is. */
  private static final DeliveryLimits NO_BOUNDS =
      new DeliveryLimits(Long.MAX_VALUE, Long.MAX_VALUE, Duration.ZERO);

  /** In one reply; an entry may be larger and then comes alone. */
  private static final byte[] MAX_REPLY_BYTES = number(8 << 20);

  /** In one reply: Redis serves nobody else meanwhile. */
  private static final int MAX_REPLY_ENTRIES = 256;

  private static final int PAGE_OF_PENDING = 1_000;

  /** Between two looks for company: while logs trickle in, each look costs a round trip. */
  private static final Duration LOOK_AGAIN = Duration.ofMillis(50);

  private final RedisSpool.Settings settings;
  private final Shard shard;
  private final Connection connection;
  private final byte[] group;
  private final byte[] consumer;

  /**
   * Read, pending, not yet handed out: what did not fit any more. Compressed, so that it is never
   * larger than one reply.
   */
  private final Deque<Raw> carried = new ArrayDeque<>();

  private final Set<EntryId> unreadable = new HashSet<>();
  private volatile int unreadableCount;

  /** When new entries were read last, by {@link System#nanoTime}. */
  private long lastRead;

  /** Whether any of the new entries gathered last may be stored already. */
  private boolean freshAgain;

  private boolean pendingUnknown = true;
  private @Nullable HandedOut handedOut;

  /** When it was last shown that what is handed out is still worked on. */
  private long lastKept;

  /**
   * The last entry there was when this connection was made, or the group. What is new to the group
   * up to there may have been delivered all the same: by another group, or by this one before Redis
   * lost the last it had written.
   */
  private @Nullable EntryId before;

  /** The connection's losses when that was asked for; one that was lost since says it anew. */
  private int beforeLosses;

  private volatile boolean hurried;

  /** When the dead are to be looked for again, by {@link System#nanoTime}: no clock is set back. */
  private long nextLook = System.nanoTime();

  RedisDeliveries(RedisSpool.Settings settings, Shard shard, int worker, Connection connection) {
    this.settings = settings;
    this.shard = shard;
    this.connection = connection;
    this.group = settings.group().getBytes(UTF_8);
    var instance = settings.instance(); // has no braces, so that nobody else has this name
    this.consumer = (worker == 0 ? instance : instance + '{' + worker + '}').getBytes(UTF_8);
  }

  /** As far as they were met. Any thread. */
  @Override
  public int skippedEntries() {
    return unreadableCount;
  }

  @Override
  public Optional<Delivery> poll(Duration patience, Duration gather) throws InterruptedException {
    if (handedOut != null) {
      handedOut = null;
      doubtPending();
    }
    boolean certain = false;
    try {
      Optional<Delivery> next;
      try {
        next = handOut(patience, gather);
      } catch (SpoolOutOfReach e) {
        if (!String.valueOf(e.getMessage()).contains("NOGROUP")) {
          throw e;
        }
        createGroup();
        next = handOut(patience, gather);
      }
      certain = true;
      return next;
    } finally {
      if (!certain) {
        doubtPending(); // a read whose reply was lost made entries pending all the same
        before = null; // Redis may have been away, and have lost what it wrote last
        lookLater(); // the others may need a while to be back as well
      }
    }
  }

  private void doubtPending() {
    pendingUnknown = true;
    carried.clear();
  }

  /** The id that Redis gave out last, even if that entry is gone. */
  private EntryId lastGiven() throws InterruptedException {
    List<Object> info =
        connection.call(
            settings.commandTimeout(),
            redis -> redis.async().xinfoStream(shard.stream()).toCompletableFuture());
    for (int i = 0; i + 1 < info.size(); i += 2) {
      if (info.get(i) instanceof byte[] name
          && new String(name, UTF_8).equals("last-generated-id")) {
        return EntryId.of((byte[]) info.get(i + 1));
      }
    }
    throw new SpoolOutOfReach("Redis does not tell the last id of a stream", null);
  }

  private Optional<Delivery> handOut(Duration patience, Duration gather)
      throws InterruptedException {
    for (var found = find(patience, gather); found != null; found = find(patience, gather)) {
      var ids = found.gathering().positions();
      if (record(found.mark(), ids)) {
        var batches = found.gathering().batches();
        var delivery = new Delivery(token(shard.number(), ids, batches), batches, found.again());
        handedOut = new HandedOut(delivery, ids, found.mark());
        lastKept = System.nanoTime();
        return Optional.of(delivery);
      }
      doubtPending(); // another took this one for dead
    }
    return Optional.empty();
  }

  /**
   * The token holds a hash of the append ids beside the first and the last id: two runs may begin
   * and end alike and differ between, and two Redis may give out the same ids. A token that is the
   * same for different runs would lose the second of them.
   */
  static String token(int shard, List<EntryId> ids, List<LogBatch> batches) {
    long hash =
        Envelope.hashOf(() -> batches.stream().map(LogBatch::appendId).iterator(), batches.size());
    return "%d:%s:%s:%s"
        .formatted(shard, ids.getFirst(), ids.getLast(), HexFormat.of().toHexDigits(hash));
  }

  private @Nullable Found find(Duration patience, Duration gather) throws InterruptedException {
    if (pendingUnknown) {
      var pending = fromPending();
      if (pending != null) {
        return pending;
      }
    }
    if (carried.isEmpty() && lookIsDue()) {
      lookForDead();
      if (pendingUnknown) {
        var pending = fromPending();
        if (pending != null) {
          return pending;
        }
      }
    }
    return fromNew(patience, gather);
  }

  private @Nullable Found fromPending() throws InterruptedException {
    var pending = pending();
    unreadable.retainAll(pending.stream().map(Pending::id).collect(toSet())); // some may be gone
    unreadableCount = unreadable.size();
    pending.removeIf(entry -> unreadable.contains(entry.id()));
    while (!pending.isEmpty()) {
      long mark = pending.getFirst().mark();
      var gathering =
          new DeliveryAccumulator<EntryId>(mark == NO_MARK ? settings.bounds() : NO_BOUNDS);
      fetch(
          pending.stream().filter(entry -> entry.mark() == mark).map(Pending::id).toList(),
          gathering);
      if (!gathering.isEmpty()) {
        return new Found(gathering, mark == NO_MARK ? newMark() : mark, true);
      }
      pending.removeIf(entry -> entry.mark() == mark); // none of these can be delivered
    }
    pendingUnknown = false;
    return null;
  }

  private static long newMark() {
    return ThreadLocalRandom.current().nextLong(MARKS_FROM, MARKS_TO);
  }

  private @Nullable Found fromNew(Duration patience, Duration gather) throws InterruptedException {
    if (before == null || beforeLosses != connection.losses()) {
      beforeLosses = connection.losses();
      before = lastGiven();
    }
    var gathering = new DeliveryAccumulator<EntryId>(settings.bounds());
    freshAgain = false;
    fill(gathering);
    if (!gathering.isEmpty() && lookIsDue()) {
      return fresh(gathering); // the dead are looked for with empty hands, under any load
    }
    if (gathering.isEmpty()) {
      var first = awaitFirst(patience);
      if (first.entries().isEmpty()) {
        return null;
      }
      take(first, gathering);
    }
    long since = lastRead;
    long maxAge = Math.max(settings.bounds().linger().toNanos(), gather.toNanos());
    while (carried.isEmpty() && !gathering.isFull()) {
      var page = read();
      take(page, gathering);
      if (!page.more()) {
        long left = maxAge - (System.nanoTime() - since);
        if (left <= 0 || patience.isZero() || hurried || gathering.isEmpty()) {
          break;
        }
        Thread.sleep(Duration.ofNanos(Math.min(left, LOOK_AGAIN.toNanos())));
      }
    }
    return gathering.isEmpty() ? null : fresh(gathering);
  }

  private Found fresh(DeliveryAccumulator<EntryId> gathering) {
    return new Found(
        gathering,
        newMark(),
        freshAgain
            || before == null
            || beforeLosses != connection.losses() // while it was gathered
            || gathering.positions().getFirst().compareTo(before) <= 0);
  }

  private void take(Page page, DeliveryAccumulator<EntryId> gathering) {
    lastRead = System.nanoTime();
    carried.addAll(page.entries());
    fill(gathering);
  }

  /** The entry that does not fit is decoded again next time, which is cheaper than keeping it. */
  private void fill(DeliveryAccumulator<EntryId> gathering) {
    while (!carried.isEmpty()) {
      var raw = carried.element();
      var batch = readable(raw);
      if (batch != null) {
        if (!gathering.add(raw.id(), batch)) {
          return;
        }
        freshAgain |= raw.again();
      }
      carried.remove();
    }
  }

  /** The batch, or null when there is none to deliver. */
  private @Nullable LogBatch readable(Raw raw) {
    var id = raw.id();
    if (raw.envelope() == null) {
      // deleted from the stream by somebody: there is nothing left to deliver
      boolean _ = settle(List.of(id), 0, List.of());
      return null;
    }
    if (unreadable.contains(id)) {
      return null;
    }
    try {
      return Envelope.decode(raw.envelope());
    } catch (UnreadableEnvelope e) {
      passOver(id, e.toString());
      return null;
    }
  }

  private void passOver(EntryId id, String reason) {
    unreadable.add(id);
    unreadableCount = unreadable.size();
    LOG.error(
        "entry {} of shard {} cannot be read and stays pending: {}", id, shard.number(), reason);
  }

  @Override
  public boolean renewLease(Delivery delivery) {
    var out = handedOut;
    if (out == null || !out.delivery().token().equals(delivery.token())) {
      return false;
    }
    if (System.nanoTime() - lastKept < settings.claimIdle().toNanos() / 4) {
      return true;
    }
    boolean kept;
    try {
      kept = record(out.mark(), out.ids());
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
      return true; // whoever works on it meets the interrupt
    }
    lastKept = System.nanoTime();
    return kept;
  }

  @Override
  public void flush() {
    hurried = true;
  }

  @Override
  public void skip(UUID appendId, String reason) {
    var out = handedOut;
    var batches = out == null ? List.<LogBatch>of() : out.delivery().batches();
    for (int i = 0; out != null && i < batches.size(); i++) {
      if (batches.get(i).appendId().equals(appendId)) {
        passOver(out.ids().get(i), reason);
        handedOut = null; // the rest of it is another delivery
        doubtPending();
        return;
      }
    }
    throw new IllegalArgumentException("batch " + appendId + " is not handed out");
  }

  @Override
  public boolean ack(Delivery delivery, List<DeadLetter> deadLetters) {
    if (handedOut == null || !handedOut.delivery().token().equals(delivery.token())) {
      throw new IllegalArgumentException("delivery " + delivery.token() + " is not handed out");
    }
    boolean settled =
        deadLetters.size() <= settings.deadLetters() // else no need to send them all
            && settle(handedOut.ids(), delivery.records(), deadLetters);
    if (settled) {
      handedOut = null;
    }
    return settled;
  }

  private boolean settle(List<EntryId> ids, long records, List<DeadLetter> deadLetters) {
    var arguments = new ArrayList<byte[]>();
    arguments.add(group);
    arguments.add(number(records));
    arguments.add(number(settings.deadLetters()));
    arguments.add(number(settings.appending().remembered().toMillis()));
    arguments.add(number(RedisSpool.REMEMBERED_LONGER));
    arguments.add(number(ids.size()));
    ids.forEach(id -> arguments.add(id.text()));
    deadLetters.forEach(letter -> arguments.addAll(RedisDeadLetters.fields(letter)));
    Long settled =
        connection.callToTheEnd(
            settings.commandTimeout(),
            redis ->
                Script.SETTLE.run(
                    redis,
                    new byte[][] {
                      shard.stream(),
                      shard.ledger(),
                      shard.dead(),
                      shard.appends(),
                      shard.appendEntries()
                    },
                    arguments.toArray(byte[][]::new)));
    return settled == 1;
  }

  private boolean record(long mark, List<EntryId> ids) throws InterruptedException {
    var arguments = new ArrayList<byte[]>();
    arguments.add(group);
    arguments.add(consumer);
    arguments.add(number(mark));
    ids.forEach(id -> arguments.add(id.text()));
    Long recorded =
        connection.call(
            settings.commandTimeout(),
            redis ->
                Script.RECORD.run(
                    redis, new byte[][] {shard.stream()}, arguments.toArray(byte[][]::new)));
    return recorded == 1;
  }

  private List<Pending> pending() throws InterruptedException {
    var pending = new ArrayList<Pending>();
    var of = Consumer.from(group, consumer);
    List<PendingMessage> page;
    do {
      Range<String> rest =
          pending.isEmpty()
              ? Range.unbounded()
              : Range.from(
                  Range.Boundary.excluding(pending.getLast().id().toString()),
                  Range.Boundary.unbounded());
      page =
          connection.call(
              settings.commandTimeout(),
              redis ->
                  redis
                      .async()
                      .xpending(shard.stream(), of, rest, Limit.from(PAGE_OF_PENDING))
                      .toCompletableFuture());
      for (var entry : page) {
        long count = entry.getRedeliveryCount();
        pending.add(new Pending(EntryId.of(entry.getId()), count < MARKS_FROM ? NO_MARK : count));
      }
    } while (page.size() == PAGE_OF_PENDING);
    return pending;
  }

  /** Reads entries into the gathering, in their order, until it takes no more. */
  private void fetch(List<EntryId> ids, DeliveryAccumulator<EntryId> gathering)
      throws InterruptedException {
    int next = 0;
    while (next < ids.size()) {
      var arguments = new ArrayList<byte[]>();
      arguments.add(MAX_REPLY_BYTES);
      ids.subList(next, Math.min(next + MAX_REPLY_ENTRIES, ids.size()))
          .forEach(id -> arguments.add(id.text()));
      List<Object> envelopes =
          connection.call(
              settings.commandTimeout(),
              redis ->
                  Script.FETCH.run(
                      redis, new byte[][] {shard.stream()}, arguments.toArray(byte[][]::new)));
      for (var envelope : envelopes) {
        var id = ids.get(next++);
        var batch = readable(new Raw(id, (byte[]) envelope, true));
        if (batch != null && !gathering.add(id, batch)) {
          return;
        }
      }
    }
  }

  /** Of the new entries as many as come in one reply. */
  private Page read() throws InterruptedException {
    List<Object> reply =
        connection.call(
            settings.commandTimeout(),
            redis ->
                Script.READ.run(
                    redis,
                    new byte[][] {shard.stream()},
                    group,
                    consumer,
                    MAX_REPLY_BYTES,
                    number(MAX_REPLY_ENTRIES)));
    var entries = new ArrayList<Raw>();
    for (int i = 1; i < reply.size(); i += 3) {
      var id = EntryId.of((byte[]) reply.get(i));
      entries.add(new Raw(id, (byte[]) reply.get(i + 1), (Long) reply.get(i + 2) == 1));
    }
    return new Page(entries, (Long) reply.get(0) == 1);
  }

  /** The next new entry, for which Redis lets us wait. */
  private Page awaitFirst(Duration patience) throws InterruptedException {
    var block = patience.compareTo(settings.claimIdle()) < 0 ? patience : settings.claimIdle();
    if (block.toMillis() == 0) { // to Redis zero means for ever
      return read();
    }
    List<Object> reply =
        connection.call(
            block.plus(settings.commandTimeout()), redis -> blockingRead(redis, block.toMillis()));
    if (reply.isEmpty() || !(reply.getFirst() instanceof List<?> stream)) {
      return new Page(List.of(), false);
    }
    var entry = (List<?>) ((List<?>) stream.get(1)).getFirst();
    return new Page(List.of(raw(EntryId.of((byte[]) entry.get(0)), entry.get(1))), true);
  }

  private static Raw raw(EntryId id, Object fields) {
    byte[] envelope = {};
    boolean again = false;
    if (fields instanceof List<?> list) {
      for (int i = 0; i + 1 < list.size(); i += 2) {
        if (list.get(i) instanceof byte[] name && name.length == 1) {
          switch (name[0]) {
            case 'e' -> envelope = (byte[]) list.get(i + 1);
            case 'a' -> again = true;
            default -> {} // not for deliveries
          }
        }
      }
    }
    return new Raw(id, envelope, again);
  }

  private CompletableFuture<List<Object>> blockingRead(
      StatefulRedisConnection<byte[], byte[]> redis, long blockMillis) {
    var arguments =
        new CommandArgs<>(ByteArrayCodec.INSTANCE)
            .add("GROUP")
            .add(group)
            .add(consumer)
            .add("COUNT")
            .add(1)
            .add("BLOCK")
            .add(blockMillis)
            .add("STREAMS")
            .add(shard.stream())
            .add(NEW);
    return redis
        .async()
        .<List<Object>>dispatch(
            CommandType.XREADGROUP, new NestedMultiOutput<>(ByteArrayCodec.INSTANCE), arguments)
        .toCompletableFuture();
  }

  private boolean lookIsDue() {
    return System.nanoTime() - nextLook >= 0;
  }

  private void lookLater() {
    nextLook = System.nanoTime() + settings.claimIdle().dividedBy(2).toNanos();
  }

  private void lookForDead() throws InterruptedException {
    lookLater();
    List<Object> reply =
        connection.call(
            settings.commandTimeout(),
            redis ->
                Script.CLAIM.run(
                    redis,
                    new byte[][] {shard.stream()},
                    group,
                    consumer,
                    number(settings.claimIdle().toMillis())));
    long claimed = (Long) reply.get(0);
    long pending = (Long) reply.get(2);
    if (claimed > 0) {
      LOG.info(
          "took over {} entries of shard {} from {}, which has been silent for {}",
          claimed,
          shard.number(),
          new String((byte[]) reply.get(1), UTF_8),
          settings.claimIdle());
      nextLook = System.nanoTime(); // there may be others
    }
    if (pending != unreadable.size()) {
      pendingUnknown = true;
    }
  }

  private void createGroup() throws InterruptedException {
    LOG.info("creating consumer group {} of shard {}", settings.group(), shard.number());
    doubtPending();
    byte[] last =
        connection.call(
            settings.commandTimeout(),
            redis -> Script.GROUP.run(redis, new byte[][] {shard.stream()}, group));
    before = EntryId.of(last);
  }

  /** Ends the connection; what is unsettled stays in the spool. */
  @Override
  public void close() {
    connection.close();
  }
}
