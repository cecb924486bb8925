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
 * #skippedIds}: a release that can read it will.
 *
 * <p>For one thread at a time, but for {@link #skippedIds} and {@link #close}. Blocking reads use a
 * connection of their own.
 */
public final class RedisSpoolConsumer implements SpoolConsumer {

  /**
   * An entry as it was read.
   *
   * @param encodedBatch null when the entry is deleted
   * @param possibleDuplicate whether it may be stored already, or come from elsewhere too
   */
  private record StreamEntry(
      StreamEntryId id, byte @Nullable [] encodedBatch, boolean possibleDuplicate) {}

  /** What came of one read; {@code more} when there may be more of the same. */
  private record StreamPage(List<StreamEntry> entries, boolean hasMore) {}

  /**
   * An entry of the pending list.
   *
   * @param deliveryId of its delivery; {@link #NO_DELIVERY_ID} when it is part of none
   */
  private record PendingEntry(StreamEntryId id, long deliveryId) {}

  /** What to hand out, once it is recorded. */
  private record DeliveryCandidate(
      DeliveryAccumulator<StreamEntryId> accumulator, long deliveryId, boolean redelivered) {}

  /** A delivery that is out, and what it was made of: an id for each batch. */
  private record OpenDelivery(Delivery delivery, List<StreamEntryId> ids, long deliveryId) {}

  private static final Logger LOG = LoggerFactory.getLogger(RedisSpoolConsumer.class);

  private static final byte[] NEW_ENTRIES = {'>'};

  /** Marks begin where no count of deliveries gets to, and end where Lua still counts exactly. */
  private static final long MIN_DELIVERY_ID = 1L << 20;

  private static final long MAX_DELIVERY_ID = 1L << 50;
  private static final long NO_DELIVERY_ID = 0;

  /** A recorded delivery is what it is. */
  private static final DeliveryLimits UNLIMITED =
      new DeliveryLimits(Long.MAX_VALUE, Long.MAX_VALUE, Duration.ZERO);

  /** In one reply; an entry may be larger and then comes alone. */
  private static final byte[] MAX_REPLY_BYTES = number(8 << 20);

  /** In one reply: Redis serves nobody else meanwhile. */
  private static final int MAX_REPLY_ENTRIES = 256;

  private static final int PENDING_PAGE_SIZE = 1_000;

  /** Between two looks for company: while logs trickle in, each look costs a round trip. */
  private static final Duration LINGER_POLL_INTERVAL = Duration.ofMillis(50);

  private final RedisSpool.Settings settings;
  private final ShardKeys shardKeys;
  private final RedisConnection connection;
  private final byte[] group;
  private final byte[] consumer;

  /**
   * Read, pending, not yet handed out: what did not fit any more. Compressed, so that it is never
   * larger than one reply.
   */
  private final Deque<StreamEntry> carryover = new ArrayDeque<>();

  private final Set<StreamEntryId> skippedIds = new HashSet<>();
  private volatile int skippedCount;

  /** When new entries were read last, by {@link System#nanoTime}. */
  private long lastRead;

  /** Whether any of the new entries gathered last may be stored already. */
  private boolean hasPossibleDuplicates;

  private boolean pendingStale = true;
  private @Nullable OpenDelivery openDelivery;

  /** When it was last shown that what is handed out is still worked on. */
  private long lastRenewal;

  /**
   * The last entry there was when this connection was made, or the group. What is new to the group
   * up to there may have been delivered all the same: by another group, or by this one before Redis
   * lost the last it had written.
   */
  private @Nullable StreamEntryId lastIdAtConnect;

  /** The connection's losses when that was asked for; one that was lost since says it anew. */
  private int disconnectCountAtConnect;

  private volatile boolean flushRequested;

  /** When the dead are to be looked for again, by {@link System#nanoTime}: no clock is set back. */
  private long nextClaimCheck = System.nanoTime();

  RedisSpoolConsumer(
      RedisSpool.Settings settings, ShardKeys shardKeys, int worker, RedisConnection connection) {
    this.settings = settings;
    this.shardKeys = shardKeys;
    this.connection = connection;
    this.group = settings.group().getBytes(UTF_8);
    var instance = settings.instance(); // has no braces, so that nobody else has this name
    this.consumer = (worker == 0 ? instance : instance + '{' + worker + '}').getBytes(UTF_8);
  }

  /** As far as they were met. Any thread. */
  @Override
  public int skippedEntries() {
    return skippedCount;
  }

  @Override
  public Optional<Delivery> poll(Duration timeout, Duration minLinger) throws InterruptedException {
    if (openDelivery != null) {
      openDelivery = null;
      invalidatePending();
    }
    boolean succeeded = false;
    try {
      Optional<Delivery> next;
      try {
        next = startDelivery(timeout, minLinger);
      } catch (SpoolUnreachableException e) {
        if (!String.valueOf(e.getMessage()).contains("NOGROUP")) {
          throw e;
        }
        createGroup();
        next = startDelivery(timeout, minLinger);
      }
      succeeded = true;
      return next;
    } finally {
      if (!succeeded) {
        invalidatePending(); // a read whose reply was lost made entries pending all the same
        lastIdAtConnect = null; // Redis may have been away, and have lost what it wrote last
        scheduleClaimCheck(); // the others may need a while to be back as well
      }
    }
  }

  private void invalidatePending() {
    pendingStale = true;
    carryover.clear();
  }

  /** The id that Redis gave out last, even if that entry is gone. */
  private StreamEntryId lastGeneratedId() throws InterruptedException {
    List<Object> info =
        connection.call(
            settings.commandTimeout(),
            redis -> redis.async().xinfoStream(shardKeys.stream()).toCompletableFuture());
    for (int i = 0; i + 1 < info.size(); i += 2) {
      if (info.get(i) instanceof byte[] name
          && new String(name, UTF_8).equals("last-generated-id")) {
        return StreamEntryId.of((byte[]) info.get(i + 1));
      }
    }
    throw new SpoolUnreachableException("Redis does not tell the last id of a stream", null);
  }

  private Optional<Delivery> startDelivery(Duration timeout, Duration minLinger)
      throws InterruptedException {
    for (var deliveryCandidate = findCandidate(timeout, minLinger);
        deliveryCandidate != null;
        deliveryCandidate = findCandidate(timeout, minLinger)) {
      var ids = deliveryCandidate.accumulator().positions();
      if (markDelivery(deliveryCandidate.deliveryId(), ids)) {
        var batches = deliveryCandidate.accumulator().batches();
        var delivery =
            new Delivery(
                token(shardKeys.number(), ids, batches), batches, deliveryCandidate.redelivered());
        openDelivery = new OpenDelivery(delivery, ids, deliveryCandidate.deliveryId());
        lastRenewal = System.nanoTime();
        return Optional.of(delivery);
      }
      invalidatePending(); // another took this one for dead
    }
    return Optional.empty();
  }

  /**
   * The token holds a hash of the append ids beside the first and the last id: two runs may begin
   * and end alike and differ between, and two Redis may give out the same ids. A token that is the
   * same for different runs would lose the second of them.
   */
  static String token(int shard, List<StreamEntryId> ids, List<LogBatch> batches) {
    long hash =
        LogBatchCodec.hashAppendIds(
            () -> batches.stream().map(LogBatch::appendId).iterator(), batches.size());
    return "%d:%s:%s:%s"
        .formatted(shard, ids.getFirst(), ids.getLast(), HexFormat.of().toHexDigits(hash));
  }

  private @Nullable DeliveryCandidate findCandidate(Duration timeout, Duration minLinger)
      throws InterruptedException {
    if (pendingStale) {
      var pending = pollPending();
      if (pending != null) {
        return pending;
      }
    }
    if (carryover.isEmpty() && claimCheckDue()) {
      claimFromDeadConsumers();
      if (pendingStale) {
        var pending = pollPending();
        if (pending != null) {
          return pending;
        }
      }
    }
    return pollNew(timeout, minLinger);
  }

  private @Nullable DeliveryCandidate pollPending() throws InterruptedException {
    var pending = readPendingList();
    skippedIds.retainAll(
        pending.stream().map(PendingEntry::id).collect(toSet())); // some may be gone
    skippedCount = skippedIds.size();
    pending.removeIf(entry -> skippedIds.contains(entry.id()));
    while (!pending.isEmpty()) {
      long deliveryId = pending.getFirst().deliveryId();
      var accumulator =
          new DeliveryAccumulator<StreamEntryId>(
              deliveryId == NO_DELIVERY_ID ? settings.deliveryLimits() : UNLIMITED);
      fetch(
          pending.stream()
              .filter(entry -> entry.deliveryId() == deliveryId)
              .map(PendingEntry::id)
              .toList(),
          accumulator);
      if (!accumulator.isEmpty()) {
        return new DeliveryCandidate(
            accumulator, deliveryId == NO_DELIVERY_ID ? newDeliveryId() : deliveryId, true);
      }
      pending.removeIf(entry -> entry.deliveryId() == deliveryId); // none of these can be delivered
    }
    pendingStale = false;
    return null;
  }

  private static long newDeliveryId() {
    return ThreadLocalRandom.current().nextLong(MIN_DELIVERY_ID, MAX_DELIVERY_ID);
  }

  private @Nullable DeliveryCandidate pollNew(Duration timeout, Duration minLinger)
      throws InterruptedException {
    if (lastIdAtConnect == null || disconnectCountAtConnect != connection.disconnectCount()) {
      disconnectCountAtConnect = connection.disconnectCount();
      lastIdAtConnect = lastGeneratedId();
    }
    var accumulator = new DeliveryAccumulator<StreamEntryId>(settings.deliveryLimits());
    hasPossibleDuplicates = false;
    drainCarryover(accumulator);
    if (!accumulator.isEmpty() && claimCheckDue()) {
      return newCandidate(accumulator); // the dead are looked for with empty hands, under any load
    }
    if (accumulator.isEmpty()) {
      var first = awaitFirst(timeout);
      if (first.entries().isEmpty()) {
        return null;
      }
      addPage(first, accumulator);
    }
    long since = lastRead;
    long lingerNanos = Math.max(settings.deliveryLimits().linger().toNanos(), minLinger.toNanos());
    while (carryover.isEmpty() && !accumulator.isFull()) {
      var page = read();
      addPage(page, accumulator);
      if (!page.hasMore()) {
        long left = lingerNanos - (System.nanoTime() - since);
        if (left <= 0 || timeout.isZero() || flushRequested || accumulator.isEmpty()) {
          break;
        }
        Thread.sleep(Duration.ofNanos(Math.min(left, LINGER_POLL_INTERVAL.toNanos())));
      }
    }
    return accumulator.isEmpty() ? null : newCandidate(accumulator);
  }

  private DeliveryCandidate newCandidate(DeliveryAccumulator<StreamEntryId> accumulator) {
    return new DeliveryCandidate(
        accumulator,
        newDeliveryId(),
        hasPossibleDuplicates
            || lastIdAtConnect == null
            || disconnectCountAtConnect != connection.disconnectCount() // while it was gathered
            || accumulator.positions().getFirst().compareTo(lastIdAtConnect) <= 0);
  }

  private void addPage(StreamPage page, DeliveryAccumulator<StreamEntryId> accumulator) {
    lastRead = System.nanoTime();
    carryover.addAll(page.entries());
    drainCarryover(accumulator);
  }

  /** The entry that does not fit is decoded again next time, which is cheaper than keeping it. */
  private void drainCarryover(DeliveryAccumulator<StreamEntryId> accumulator) {
    while (!carryover.isEmpty()) {
      var entry = carryover.element();
      var batch = decodeOrSkip(entry);
      if (batch != null) {
        if (!accumulator.add(entry.id(), batch)) {
          return;
        }
        hasPossibleDuplicates |= entry.possibleDuplicate();
      }
      carryover.remove();
    }
  }

  /** The batch, or null when there is none to deliver. */
  private @Nullable LogBatch decodeOrSkip(StreamEntry entry) {
    var id = entry.id();
    if (entry.encodedBatch() == null) {
      // deleted from the stream by somebody: there is nothing left to deliver
      boolean _ = ack(List.of(id), 0, List.of());
      return null;
    }
    if (skippedIds.contains(id)) {
      return null;
    }
    try {
      return LogBatchCodec.decode(entry.encodedBatch());
    } catch (UnreadableBatchException e) {
      skip(id, e.toString());
      return null;
    }
  }

  private void skip(StreamEntryId id, String reason) {
    skippedIds.add(id);
    skippedCount = skippedIds.size();
    LOG.error(
        "entry {} of shard {} cannot be read and stays pending: {}",
        id,
        shardKeys.number(),
        reason);
  }

  @Override
  public boolean renewLease(Delivery delivery) {
    var open = openDelivery;
    if (open == null || !open.delivery().token().equals(delivery.token())) {
      return false;
    }
    if (System.nanoTime() - lastRenewal < settings.consumerIdleTimeout().toNanos() / 4) {
      return true;
    }
    boolean renewed;
    try {
      renewed = markDelivery(open.deliveryId(), open.ids());
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
      return true; // whoever works on it meets the interrupt
    }
    lastRenewal = System.nanoTime();
    return renewed;
  }

  @Override
  public void flush() {
    flushRequested = true;
  }

  @Override
  public void skip(UUID appendId, String reason) {
    var open = openDelivery;
    var batches = open == null ? List.<LogBatch>of() : open.delivery().batches();
    for (int i = 0; open != null && i < batches.size(); i++) {
      if (batches.get(i).appendId().equals(appendId)) {
        skip(open.ids().get(i), reason);
        openDelivery = null; // the rest of it is another delivery
        invalidatePending();
        return;
      }
    }
    throw new IllegalArgumentException("batch " + appendId + " is not handed out");
  }

  @Override
  public boolean ack(Delivery delivery, List<DeadLetter> deadLetters) {
    if (openDelivery == null || !openDelivery.delivery().token().equals(delivery.token())) {
      throw new IllegalArgumentException("delivery " + delivery.token() + " is not handed out");
    }
    boolean acked =
        deadLetters.size() <= settings.deadLetters() // else no need to send them all
            && ack(openDelivery.ids(), delivery.records(), deadLetters);
    if (acked) {
      openDelivery = null;
    }
    return acked;
  }

  private boolean ack(List<StreamEntryId> ids, long records, List<DeadLetter> deadLetters) {
    var arguments = new ArrayList<byte[]>();
    arguments.add(group);
    arguments.add(number(records));
    arguments.add(number(settings.deadLetters()));
    arguments.add(number(settings.appendSettings().dedupRetention().toMillis()));
    arguments.add(number(RedisSpool.MAX_EXTENDED_DEDUP_APPENDS));
    arguments.add(number(ids.size()));
    ids.forEach(id -> arguments.add(id.text()));
    deadLetters.forEach(letter -> arguments.addAll(RedisDeadLetterQueue.fields(letter)));
    Long acked =
        connection.callUninterruptibly(
            settings.commandTimeout(),
            redis ->
                Script.ACK.run(
                    redis,
                    new byte[][] {
                      shardKeys.stream(),
                      shardKeys.ledger(),
                      shardKeys.dead(),
                      shardKeys.appends(),
                      shardKeys.appendEntries()
                    },
                    arguments.toArray(byte[][]::new)));
    return acked == 1;
  }

  private boolean markDelivery(long deliveryId, List<StreamEntryId> ids)
      throws InterruptedException {
    var arguments = new ArrayList<byte[]>();
    arguments.add(group);
    arguments.add(consumer);
    arguments.add(number(deliveryId));
    ids.forEach(id -> arguments.add(id.text()));
    Long marked =
        connection.call(
            settings.commandTimeout(),
            redis ->
                Script.MARK_DELIVERY.run(
                    redis, new byte[][] {shardKeys.stream()}, arguments.toArray(byte[][]::new)));
    return marked == 1;
  }

  private List<PendingEntry> readPendingList() throws InterruptedException {
    var pending = new ArrayList<PendingEntry>();
    var groupConsumer = Consumer.from(group, consumer);
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
                      .xpending(
                          shardKeys.stream(), groupConsumer, rest, Limit.from(PENDING_PAGE_SIZE))
                      .toCompletableFuture());
      for (var entry : page) {
        long count = entry.getRedeliveryCount();
        pending.add(
            new PendingEntry(
                StreamEntryId.of(entry.getId()), count < MIN_DELIVERY_ID ? NO_DELIVERY_ID : count));
      }
    } while (page.size() == PENDING_PAGE_SIZE);
    return pending;
  }

  /** Reads entries into the gathering, in their order, until it takes no more. */
  private void fetch(List<StreamEntryId> ids, DeliveryAccumulator<StreamEntryId> accumulator)
      throws InterruptedException {
    int next = 0;
    while (next < ids.size()) {
      var arguments = new ArrayList<byte[]>();
      arguments.add(MAX_REPLY_BYTES);
      ids.subList(next, Math.min(next + MAX_REPLY_ENTRIES, ids.size()))
          .forEach(id -> arguments.add(id.text()));
      List<Object> encodedBatches =
          connection.call(
              settings.commandTimeout(),
              redis ->
                  Script.FETCH.run(
                      redis, new byte[][] {shardKeys.stream()}, arguments.toArray(byte[][]::new)));
      for (var encodedBatch : encodedBatches) {
        var id = ids.get(next++);
        var batch = decodeOrSkip(new StreamEntry(id, (byte[]) encodedBatch, true));
        if (batch != null && !accumulator.add(id, batch)) {
          return;
        }
      }
    }
  }

  /** Of the new entries as many as come in one reply. */
  private StreamPage read() throws InterruptedException {
    List<Object> reply =
        connection.call(
            settings.commandTimeout(),
            redis ->
                Script.READ.run(
                    redis,
                    new byte[][] {shardKeys.stream()},
                    group,
                    consumer,
                    MAX_REPLY_BYTES,
                    number(MAX_REPLY_ENTRIES)));
    var entries = new ArrayList<StreamEntry>();
    for (int i = 1; i < reply.size(); i += 3) {
      var id = StreamEntryId.of((byte[]) reply.get(i));
      entries.add(new StreamEntry(id, (byte[]) reply.get(i + 1), (Long) reply.get(i + 2) == 1));
    }
    return new StreamPage(entries, (Long) reply.get(0) == 1);
  }

  /** The next new entry, for which Redis lets us wait. */
  private StreamPage awaitFirst(Duration timeout) throws InterruptedException {
    var block =
        timeout.compareTo(settings.consumerIdleTimeout()) < 0
            ? timeout
            : settings.consumerIdleTimeout();
    if (block.toMillis() == 0) { // to Redis zero means for ever
      return read();
    }
    List<Object> reply =
        connection.call(
            block.plus(settings.commandTimeout()), redis -> blockingRead(redis, block.toMillis()));
    if (reply.isEmpty() || !(reply.getFirst() instanceof List<?> stream)) {
      return new StreamPage(List.of(), false);
    }
    var entry = (List<?>) ((List<?>) stream.get(1)).getFirst();
    return new StreamPage(
        List.of(toStreamEntry(StreamEntryId.of((byte[]) entry.get(0)), entry.get(1))), true);
  }

  private static StreamEntry toStreamEntry(StreamEntryId id, Object fields) {
    byte[] encodedBatch = {};
    boolean possibleDuplicate = false;
    if (fields instanceof List<?> list) {
      for (int i = 0; i + 1 < list.size(); i += 2) {
        if (list.get(i) instanceof byte[] name && name.length == 1) {
          switch (name[0]) {
            case 'e' -> encodedBatch = (byte[]) list.get(i + 1);
            case 'a' -> possibleDuplicate = true;
            default -> {} // not for deliveries
          }
        }
      }
    }
    return new StreamEntry(id, encodedBatch, possibleDuplicate);
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
            .add(shardKeys.stream())
            .add(NEW_ENTRIES);
    return redis
        .async()
        .<List<Object>>dispatch(
            CommandType.XREADGROUP, new NestedMultiOutput<>(ByteArrayCodec.INSTANCE), arguments)
        .toCompletableFuture();
  }

  private boolean claimCheckDue() {
    return System.nanoTime() - nextClaimCheck >= 0;
  }

  private void scheduleClaimCheck() {
    nextClaimCheck = System.nanoTime() + settings.consumerIdleTimeout().dividedBy(2).toNanos();
  }

  private void claimFromDeadConsumers() throws InterruptedException {
    scheduleClaimCheck();
    List<Object> reply =
        connection.call(
            settings.commandTimeout(),
            redis ->
                Script.CLAIM.run(
                    redis,
                    new byte[][] {shardKeys.stream()},
                    group,
                    consumer,
                    number(settings.consumerIdleTimeout().toMillis())));
    long claimed = (Long) reply.get(0);
    long pending = (Long) reply.get(2);
    if (claimed > 0) {
      LOG.info(
          "took over {} entries of shard {} from {}, which has been silent for {}",
          claimed,
          shardKeys.number(),
          new String((byte[]) reply.get(1), UTF_8),
          settings.consumerIdleTimeout());
      nextClaimCheck = System.nanoTime(); // there may be others
    }
    if (pending != skippedIds.size()) {
      pendingStale = true;
    }
  }

  private void createGroup() throws InterruptedException {
    LOG.info("creating consumer group {} of shard {}", settings.group(), shardKeys.number());
    invalidatePending();
    byte[] last =
        connection.call(
            settings.commandTimeout(),
            redis -> Script.CREATE_GROUP.run(redis, new byte[][] {shardKeys.stream()}, group));
    lastIdAtConnect = StreamEntryId.of(last);
  }

  /** Ends the connection; what is unsettled stays in the spool. */
  @Override
  public void close() {
    connection.close();
  }
}
