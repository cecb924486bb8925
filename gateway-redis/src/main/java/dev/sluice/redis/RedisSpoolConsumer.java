package dev.sluice.redis;

import static dev.sluice.redis.Script.number;
import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.stream.Collectors.toSet;

import dev.sluice.core.codec.LogBatchCodec;
import dev.sluice.core.codec.UnreadableBatchException;
import dev.sluice.core.delivery.DeliveryAccumulator;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
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
import java.nio.ByteBuffer;
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
import net.jpountz.xxhash.XXHash64;
import net.jpountz.xxhash.XXHashFactory;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A spool consumer for one shard, which is one consumer of the shard's consumer group.
 *
 * <p>Redis holds the entries that were read and not acknowledged in this consumer's <em>pending
 * entries list</em>. Before {@link #poll} returns a delivery, it records the delivery there: it
 * writes a <em>delivery id</em> into the delivery count of each entry. A delivery id is a random
 * number above every real delivery count. Entries with the same delivery id form one delivery, for
 * every consumer that reads them next and under any later limits. The delivery count can be written
 * even when Redis is full, and stays with the entry when another consumer claims it; see
 * docs/adr/0013-record-deliveries-in-the-pending-list.md.
 *
 * <p>The consumer reads the list again whenever the list may contain entries that the consumer does
 * not know: at the start, after a delivery that was not acknowledged, after a failure, and after a
 * claim from a dead consumer. It reads new entries only when the list contains nothing to deliver.
 * Entries without a delivery id were read and never delivered, or come from a release without
 * delivery ids; they become new deliveries.
 *
 * <p>An entry that cannot be decoded stays pending, is skipped, and is counted in {@link
 * #skippedEntries}, so that a later release can deliver it.
 *
 * <p>For use by one thread at a time, except {@link #skippedEntries}, {@link #flush} and {@link
 * #close}, which are safe for any thread. The connection is not shared, because reads block it.
 */
public final class RedisSpoolConsumer implements SpoolConsumer {

  /**
   * An entry read from the stream.
   *
   * @param id the id of the entry
   * @param encodedBatch the encoded batch; null when the entry is deleted, empty when it has none
   * @param possibleDuplicate whether the batch may be in the store already or in another spool
   */
  private record StreamEntry(
      StreamEntryId id, byte @Nullable [] encodedBatch, boolean possibleDuplicate) {}

  /**
   * The result of one read.
   *
   * @param entries the entries, in stream order
   * @param hasMore whether the stream may contain more new entries
   */
  private record StreamPage(List<StreamEntry> entries, boolean hasMore) {}

  /**
   * An entry of the pending entries list.
   *
   * @param id the id of the entry
   * @param deliveryId the id of its delivery; {@link #NO_DELIVERY_ID} when it belongs to none
   */
  private record PendingEntry(StreamEntryId id, long deliveryId) {}

  /** A delivery that is not recorded in Redis yet. */
  private record DeliveryCandidate(
      DeliveryAccumulator<StreamEntryId> accumulator, long deliveryId, boolean redelivered) {}

  /** The unacknowledged delivery, with the entry id of each batch. */
  private record OpenDelivery(Delivery delivery, List<StreamEntryId> ids, long deliveryId) {}

  private static final Logger LOG = LoggerFactory.getLogger(RedisSpoolConsumer.class);

  private static final XXHash64 HASH = XXHashFactory.fastestInstance().hash64();
  private static final byte[] NEW_ENTRIES = {'>'};

  /**
   * Lowest delivery id, above every real delivery count. {@link #MAX_DELIVERY_ID} is in the range
   * in which the numbers of Lua are exact integers.
   */
  private static final long MIN_DELIVERY_ID = 1L << 20;

  private static final long MAX_DELIVERY_ID = 1L << 50;
  private static final long NO_DELIVERY_ID = 0;

  /** The limits of a recorded delivery: all of its entries belong to it. */
  private static final DeliveryLimits UNLIMITED =
      new DeliveryLimits(Long.MAX_VALUE, Long.MAX_VALUE, Duration.ZERO);

  /** Size of one reply after which no further entry is added; a single entry may be larger. */
  private static final byte[] MAX_REPLY_BYTES = number(8 << 20);

  /** Maximum number of entries of one reply: Redis executes no other command during the script. */
  private static final int MAX_REPLY_ENTRIES = 256;

  private static final int PENDING_PAGE_SIZE = 1_000;

  /** Time between two reads while a delivery lingers; each read costs a round trip. */
  private static final Duration LINGER_POLL_INTERVAL = Duration.ofMillis(50);

  private final RedisSpool.RedisSpoolSettings settings;
  private final ShardKeys shardKeys;
  private final RedisConnection connection;
  private final byte[] group;
  private final byte[] consumer;

  /**
   * Pending entries that were read and did not fit into the last delivery. They stay encoded, so
   * that they take no more memory than one reply.
   */
  private final Deque<StreamEntry> carryover = new ArrayDeque<>();

  private final Set<StreamEntryId> skippedIds = new HashSet<>();
  private volatile int skippedCount;

  /** Time of the last read of new entries, by {@link System#nanoTime}. */
  private long lastRead;

  /** Whether an entry of the delivery being accumulated is a possible duplicate. */
  private boolean hasPossibleDuplicates;

  private boolean pendingStale = true;
  private @Nullable OpenDelivery openDelivery;

  /** Time of the last renewal of the lease on the open delivery, by {@link System#nanoTime}. */
  private long lastRenewal;

  /**
   * The last entry id of the stream when this connection was opened or the group was created; null
   * when unknown. An entry up to this id can be new to the group and still have been delivered
   * before: by another group, or by this group before Redis lost its latest writes.
   */
  private @Nullable StreamEntryId lastIdAtConnect;

  /**
   * The connection's disconnect count when {@link #lastIdAtConnect} was queried; after a further
   * disconnect that id is queried again.
   */
  private int disconnectCountAtConnect;

  private volatile boolean flushRequested;

  /**
   * Time of the next claim from dead consumers, by {@link System#nanoTime}, which is not affected
   * by changes of the system clock.
   */
  private long nextClaimCheck = System.nanoTime();

  RedisSpoolConsumer(
      RedisSpool.RedisSpoolSettings settings,
      ShardKeys shardKeys,
      int worker,
      RedisConnection connection) {
    this.settings = settings;
    this.shardKeys = shardKeys;
    this.connection = connection;
    this.group = settings.group().getBytes(UTF_8);
    var instance = settings.instance(); // contains no braces, so that this name is unique
    this.consumer = (worker == 0 ? instance : instance + '{' + worker + '}').getBytes(UTF_8);
  }

  /**
   * Returns the number of entries, of those read so far, that this release cannot decode or that
   * are set aside; they stay pending.
   */
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
        invalidatePending(); // a read whose reply was lost has made entries pending
        lastIdAtConnect = null; // Redis may have restarted without its latest writes
        scheduleClaimCheck(); // the other consumers need time to reconnect too
      }
    }
  }

  private void invalidatePending() {
    pendingStale = true;
    carryover.clear();
  }

  /** Returns the last id that Redis generated for the stream, even if its entry is deleted. */
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
    throw new SpoolUnreachableException("the reply of Redis has no last-generated-id", null);
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
      invalidatePending(); // another consumer has claimed these entries
    }
    return Optional.empty();
  }

  /**
   * Returns the token of a delivery: shard, first and last entry id, and a hash of the append ids.
   * The hash distinguishes deliveries with the same first and last entry but different entries
   * between them, and entries of two Redis servers that generated the same ids. If two different
   * deliveries had the same token, the records of the second one would be lost.
   */
  static String token(int shard, List<StreamEntryId> ids, List<LogBatch> batches) {
    var appendIds = ByteBuffer.allocate(batches.size() * LogId.BYTES);
    for (var batch : batches) {
      appendIds.putLong(batch.appendId().getMostSignificantBits());
      appendIds.putLong(batch.appendId().getLeastSignificantBits());
    }
    long hash = HASH.hash(appendIds.array(), 0, appendIds.position(), 0);
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
        pending.stream().map(PendingEntry::id).collect(toSet())); // without entries now deleted
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
      pending.removeIf(entry -> entry.deliveryId() == deliveryId); // all deleted or unreadable
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
      return newCandidate(accumulator); // claims need an empty carryover, also under high load
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
            || disconnectCountAtConnect != connection.disconnectCount() // during accumulation
            || accumulator.positions().getFirst().compareTo(lastIdAtConnect) <= 0);
  }

  private void addPage(StreamPage page, DeliveryAccumulator<StreamEntryId> accumulator) {
    lastRead = System.nanoTime();
    carryover.addAll(page.entries());
    drainCarryover(accumulator);
  }

  /**
   * Moves carried-over entries into the accumulator until one does not fit. That entry is decoded
   * again for the next delivery, which is cheaper than holding its decoded batch.
   */
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

  /** Returns the batch of the entry; null when the entry is deleted, skipped or unreadable. */
  private @Nullable LogBatch decodeOrSkip(StreamEntry entry) {
    var id = entry.id();
    if (entry.encodedBatch() == null) {
      // the entry was deleted from the stream by another client: remove it from the pending list
      ackEntries(List.of(id), 0);
      return null;
    }
    if (skippedIds.contains(id)) {
      return null;
    }
    try {
      return LogBatchCodec.decode(entry.encodedBatch());
    } catch (UnreadableBatchException e) {
      skipEntry(id, String.valueOf(e.getMessage()));
      return null;
    }
  }

  private void skipEntry(StreamEntryId id, String reason) {
    skippedIds.add(id);
    skippedCount = skippedIds.size();
    LOG.error(
        "skipping entry {} of shard {}, which remains pending: {}", id, shardKeys.number(), reason);
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
      return true; // the interrupt ends the work on the delivery
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
        skipEntry(open.ids().get(i), reason);
        openDelivery = null; // the other batches form a new delivery
        invalidatePending();
        return;
      }
    }
    throw new IllegalArgumentException("batch " + appendId + " is not in the open delivery");
  }

  @Override
  public void ack(Delivery delivery) {
    if (openDelivery == null || !openDelivery.delivery().token().equals(delivery.token())) {
      throw new IllegalArgumentException("delivery " + delivery.token() + " is not open");
    }
    ackEntries(openDelivery.ids(), delivery.records());
    openDelivery = null;
  }

  private void ackEntries(List<StreamEntryId> ids, long records) {
    var arguments = new ArrayList<byte[]>();
    arguments.add(group);
    arguments.add(number(records));
    arguments.add(number(settings.appendSettings().dedupRetention().toMillis()));
    arguments.add(number(RedisSpool.MAX_EXTENDED_DEDUP_APPENDS));
    ids.forEach(id -> arguments.add(id.text()));
    Long _ =
        connection.callUninterruptibly(
            settings.commandTimeout(),
            redis ->
                Script.ACK.run(
                    redis,
                    new byte[][] {
                      shardKeys.stream(),
                      shardKeys.ledger(),
                      shardKeys.appends(),
                      shardKeys.appendEntries()
                    },
                    arguments.toArray(byte[][]::new)));
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

  /** Reads entries into the accumulator, in the order of {@code ids}, until it is full. */
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

  /** Reads the new entries of one reply, without blocking. */
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

  /** Reads the next new entry; Redis blocks the connection until there is one or the timeout. */
  private StreamPage awaitFirst(Duration timeout) throws InterruptedException {
    var block =
        timeout.compareTo(settings.consumerIdleTimeout()) < 0
            ? timeout
            : settings.consumerIdleTimeout();
    if (block.toMillis() == 0) { // BLOCK 0 would wait without a limit
      return read();
    }
    List<Object> reply =
        connection.call(
            block.plus(settings.commandTimeout()), redis -> readBlocking(redis, block.toMillis()));
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
            default -> {} // fields that deliveries do not use
          }
        }
      }
    }
    return new StreamEntry(id, encodedBatch, possibleDuplicate);
  }

  private CompletableFuture<List<Object>> readBlocking(
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
          "took over {} entries of shard {} from consumer {}, idle for at least {}",
          claimed,
          shardKeys.number(),
          new String((byte[]) reply.get(1), UTF_8),
          settings.consumerIdleTimeout());
      nextClaimCheck = System.nanoTime(); // there may be more dead consumers
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

  /** Closes the connection; unacknowledged entries stay in the spool. */
  @Override
  public void close() {
    connection.close();
  }
}
