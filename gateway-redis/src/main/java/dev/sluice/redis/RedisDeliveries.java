package dev.sluice.redis;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.port.Deliveries;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.NestedMultiOutput;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Deliveries of one shard, as one consumer of its group.
 *
 * <p>What was read and not settled is this consumer's <em>pending list</em>, in Redis. It is read
 * again whenever it may hold something unknown here: at the start, after a delivery that was not
 * settled, after a failure, after taking over from a dead consumer. New entries are read only when
 * it holds nothing to deliver, so that the list is at most one delivery and what was read beyond
 * it, and a delivery handed out again is cut from it as it was before.
 *
 * <p>An entry that cannot be read stays pending, is passed over, and is counted in {@link
 * #unreadable}: a release that can read it will.
 *
 * <p>For one thread at a time, but for {@link #unreadable} and {@link #close}. Blocking reads use a
 * connection of their own.
 */
public final class RedisDeliveries implements Deliveries {

  /**
   * When a delivery is large enough.
   *
   * @param maxRecords log records; one larger batch is a delivery by itself
   * @param maxBytes sum of the batches' expanded bytes; likewise
   * @param maxAge how long the first entry waits for company; the latency of a lone log
   */
  public record Bounds(long maxRecords, long maxBytes, Duration maxAge) {
    /** 500,000 records, 128 MiB, one second. */
    public static final Bounds DEFAULT = new Bounds(500_000, 128L << 20, Duration.ofSeconds(1));

    public Bounds {
      if (maxRecords < 1 || maxBytes < 1 || maxAge.isNegative()) {
        throw new IllegalArgumentException(
            "a delivery needs positive bounds, has max-records %d, max-bytes %d, max-age %s"
                .formatted(maxRecords, maxBytes, maxAge));
      }
    }
  }

  /** An entry as it was read; the envelope is null when the entry is deleted. */
  private record Raw(EntryId id, byte @Nullable [] envelope) {}

  /** What came of one read; {@code more} when there may be more of the same. */
  private record Page(List<Raw> entries, boolean more) {}

  /** A delivery that is out, and what it was made of. */
  private record HandedOut(Delivery delivery, List<EntryId> ids) {}

  private static final Logger LOG = LoggerFactory.getLogger(RedisDeliveries.class);

  private static final byte[] NEW = {'>'};
  private static final byte[] FROM_THE_START = {'0'};

  /** In one reply; an entry may be larger and then comes alone. */
  private static final byte[] MAX_REPLY_BYTES = number(8 << 20);

  /** In one reply: Redis serves nobody else meanwhile. */
  private static final byte[] MAX_REPLY_ENTRIES = number(256);

  /** Between two looks for company: while logs trickle in, each look costs a round trip. */
  private static final Duration LOOK_AGAIN = Duration.ofMillis(50);

  private final RedisSpool.Settings settings;
  private final Shard shard;
  private final Connection connection;
  private final InstantSource clock;
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

  private boolean pendingUnknown = true;
  private @Nullable HandedOut handedOut;

  /** Where the delivery ended that was handed out and not settled: so it must end again. */
  private @Nullable EntryId endOfUnsettled;

  private Instant lookedForDead = Instant.EPOCH;

  RedisDeliveries(
      RedisSpool.Settings settings, Shard shard, Connection connection, InstantSource clock) {
    this.settings = settings;
    this.shard = shard;
    this.connection = connection;
    this.clock = clock;
    this.group = settings.group().getBytes(UTF_8);
    this.consumer = settings.instance().getBytes(UTF_8);
  }

  /** Pending entries that this release cannot read, as far as they were met. Any thread. */
  public int unreadable() {
    return unreadableCount;
  }

  @Override
  public Optional<Delivery> next(Duration patience, Duration gather) throws InterruptedException {
    if (handedOut != null) {
      endOfUnsettled = handedOut.ids().getLast();
      handedOut = null;
      doubtPending();
    }
    boolean certain = false;
    try {
      Optional<Delivery> next;
      try {
        next = find(patience);
      } catch (SpoolOutOfReach e) {
        if (!String.valueOf(e.getMessage()).contains("NOGROUP")) {
          throw e;
        }
        createGroup();
        next = find(patience);
      }
      certain = true;
      return next;
    } finally {
      if (!certain) {
        doubtPending(); // a read whose reply was lost made entries pending all the same
        lookedForDead = clock.instant(); // the others may need a while to be back as well
      }
    }
  }

  private void doubtPending() {
    pendingUnknown = true;
    carried.clear();
  }

  private Optional<Delivery> find(Duration patience) throws InterruptedException {
    if (pendingUnknown) {
      var pending = fromPending();
      if (pending.isPresent()) {
        return pending;
      }
    }
    if (carried.isEmpty() && lookIsDue()) {
      lookForDead();
      if (pendingUnknown) {
        var pending = fromPending();
        if (pending.isPresent()) {
          return pending;
        }
      }
    }
    return fromNew(patience);
  }

  private Optional<Delivery> fromPending() throws InterruptedException {
    var gathering = new Gathering(settings.bounds());
    var met = new HashSet<EntryId>();
    byte[] after = FROM_THE_START;
    Page page;
    do {
      page = read(after);
      for (var raw : page.entries()) {
        after = raw.id().text();
        var entry = readable(raw);
        if (entry == null) {
          met.add(raw.id());
        } else if (endsBefore(raw.id(), gathering) || !gathering.add(entry)) {
          return handOut(gathering);
        }
      }
    } while (page.more());
    pendingUnknown = false;
    unreadable.retainAll(met); // a person may have removed some
    unreadableCount = unreadable.size();
    return handOut(gathering);
  }

  private boolean endsBefore(EntryId id, Gathering gathering) {
    return endOfUnsettled != null
        && !gathering.isEmpty()
        && gathering.last().compareTo(endOfUnsettled) <= 0
        && id.compareTo(endOfUnsettled) > 0;
  }

  private Optional<Delivery> fromNew(Duration patience) throws InterruptedException {
    var gathering = new Gathering(settings.bounds());
    fill(gathering);
    if (!gathering.isEmpty() && lookIsDue()) {
      return handOut(gathering); // the dead are looked for with empty hands, under any load
    }
    if (gathering.isEmpty()) {
      var first = awaitFirst(patience);
      if (first.entries().isEmpty()) {
        return Optional.empty();
      }
      take(first, gathering);
    }
    long since = lastRead;
    long maxAge = settings.bounds().maxAge().toNanos();
    while (carried.isEmpty() && !gathering.isFull()) {
      var page = read(NEW);
      take(page, gathering);
      if (!page.more()) {
        long left = maxAge - (System.nanoTime() - since);
        if (left <= 0 || patience.isZero() || gathering.isEmpty()) {
          break;
        }
        Thread.sleep(Duration.ofNanos(Math.min(left, LOOK_AGAIN.toNanos())));
      }
    }
    return handOut(gathering);
  }

  private void take(Page page, Gathering gathering) {
    lastRead = System.nanoTime();
    carried.addAll(page.entries());
    fill(gathering);
  }

  /** The entry that does not fit is decoded again next time, which is cheaper than keeping it. */
  private void fill(Gathering gathering) {
    while (!carried.isEmpty()) {
      var entry = readable(carried.element());
      if (entry != null && !gathering.add(entry)) {
        return;
      }
      carried.remove();
    }
  }

  private Optional<Delivery> handOut(Gathering gathering) {
    endOfUnsettled = null;
    if (gathering.isEmpty()) {
      return Optional.empty();
    }
    var delivery = gathering.delivery(shard.number());
    handedOut = new HandedOut(delivery, gathering.ids());
    return Optional.of(delivery);
  }

  /** The entry, or null when there is none to deliver. */
  private @Nullable Entry readable(Raw raw) {
    var id = raw.id();
    if (raw.envelope() == null) {
      settle(List.of(id)); // deleted from the stream by somebody: there is nothing left to deliver
      return null;
    }
    if (unreadable.contains(id)) {
      return null;
    }
    try {
      return new Entry(id, Envelope.decode(raw.envelope()));
    } catch (UnreadableEnvelope e) {
      unreadable.add(id);
      unreadableCount = unreadable.size();
      LOG.error(
          "entry {} of shard {} cannot be read and stays pending: {}",
          id,
          shard.number(),
          e.toString());
      return null;
    }
  }

  @Override
  public void setAside(UUID appendId, String reason) {
    throw new UnsupportedOperationException("not built yet");
  }

  @Override
  public boolean settle(Delivery delivery, List<DeadLetter> deadLetters) {
    if (handedOut == null || !handedOut.delivery().token().equals(delivery.token())) {
      throw new IllegalArgumentException("delivery " + delivery.token() + " is not handed out");
    }
    settle(handedOut.ids());
    handedOut = null;
    return true;
  }

  private void settle(List<EntryId> ids) {
    byte[][] arguments = new byte[ids.size() + 1][];
    arguments[0] = group;
    for (int i = 0; i < ids.size(); i++) {
      arguments[i + 1] = ids.get(i).text();
    }
    Long _ =
        connection.callToTheEnd(
            settings.commandTimeout(),
            redis -> Script.SETTLE.run(redis, new byte[][] {shard.stream()}, arguments));
  }

  private Page read(byte[] after) throws InterruptedException {
    List<Object> reply =
        connection.call(
            settings.commandTimeout(),
            redis ->
                Script.READ.run(
                    redis,
                    new byte[][] {shard.stream()},
                    group,
                    consumer,
                    after,
                    MAX_REPLY_BYTES,
                    MAX_REPLY_ENTRIES));
    var entries = new ArrayList<Raw>();
    for (int i = 1; i < reply.size(); i += 2) {
      entries.add(new Raw(EntryId.of((byte[]) reply.get(i)), (byte[]) reply.get(i + 1)));
    }
    return new Page(entries, (Long) reply.get(0) == 1);
  }

  /** The next new entry, for which Redis lets us wait. */
  private Page awaitFirst(Duration patience) throws InterruptedException {
    var block = patience.compareTo(settings.claimIdle()) < 0 ? patience : settings.claimIdle();
    if (block.toMillis() == 0) { // to Redis zero means for ever
      return read(NEW);
    }
    List<Object> reply =
        connection.call(
            block.plus(settings.commandTimeout()), redis -> blockingRead(redis, block.toMillis()));
    if (reply.isEmpty() || !(reply.getFirst() instanceof List<?> stream)) {
      return new Page(List.of(), false);
    }
    var entry = (List<?>) ((List<?>) stream.get(1)).getFirst();
    var raw = new Raw(EntryId.of((byte[]) entry.get(0)), envelopeOf(entry.get(1)));
    return new Page(List.of(raw), true);
  }

  private static byte[] envelopeOf(Object fields) {
    byte[] envelope = {};
    if (fields instanceof List<?> list) {
      for (int i = 0; i + 1 < list.size(); i += 2) {
        if (list.get(i) instanceof byte[] name && name.length == 1 && name[0] == 'e') {
          envelope = (byte[]) list.get(i + 1);
        }
      }
    }
    return envelope;
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
    return !clock.instant().isBefore(lookedForDead.plus(settings.claimIdle().dividedBy(2)));
  }

  private void lookForDead() throws InterruptedException {
    lookedForDead = clock.instant();
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
      lookedForDead = Instant.EPOCH; // there may be others
    }
    if (pending != unreadable.size()) {
      pendingUnknown = true;
    }
  }

  private void createGroup() throws InterruptedException {
    LOG.info("creating consumer group {} of shard {}", settings.group(), shard.number());
    doubtPending();
    endOfUnsettled = null;
    try {
      String _ = connection.call(settings.commandTimeout(), this::createGroup);
    } catch (SpoolOutOfReach e) {
      if (!String.valueOf(e.getMessage()).contains("BUSYGROUP")) { // another was faster
        throw e;
      }
    }
  }

  private CompletableFuture<String> createGroup(StatefulRedisConnection<byte[], byte[]> redis) {
    var arguments =
        new CommandArgs<>(ByteArrayCodec.INSTANCE)
            .add("CREATE")
            .add(shard.stream())
            .add(group)
            .add("0")
            .add("MKSTREAM");
    return redis
        .async()
        .dispatch(CommandType.XGROUP, new StatusOutput<>(ByteArrayCodec.INSTANCE), arguments)
        .toCompletableFuture();
  }

  private static byte[] number(long value) {
    return Long.toString(value).getBytes(UTF_8);
  }

  /** Ends the connection; what is unsettled stays in the spool. */
  @Override
  public void close() {
    connection.close();
  }
}
