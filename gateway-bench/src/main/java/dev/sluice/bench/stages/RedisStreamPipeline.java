package dev.sluice.bench.stages;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.lettuce.core.Consumer;
import io.lettuce.core.RedisBusyException;
import io.lettuce.core.RedisClient;
import io.lettuce.core.StreamMessage;
import io.lettuce.core.XGroupCreateArgs;
import io.lettuce.core.XReadArgs;
import io.lettuce.core.XReadArgs.StreamOffset;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A pipeline that responds when Redis has stored the request as one entry of a stream. The
 * consumers of one group collect entries, insert them together and delete them; a failed insert is
 * retried until it succeeds. After a restart, a consumer first reads the entries that it had read
 * before the kill: if they had been inserted, they are stored twice.
 */
final class RedisStreamPipeline implements StagePipeline {
  private static final String GROUP = "bench";
  private static final String STREAM = "bench:logs";

  /** The maximum number of entries of one read. */
  private static final int READ_COUNT = 500;

  /**
   * The maximum number of logs of one insert. No request waits for the insert, so it may exceed
   * what arrives at one time.
   */
  private static final int MAX_BATCH_LOGS = 20_000;

  private static final Duration LINGER = Duration.ofSeconds(1);
  private static final Duration POLL_INTERVAL = Duration.ofMillis(20);
  private static final Duration RETRY_DELAY = Duration.ofSeconds(1);

  private final RedisClient redis;
  private final RedisAsyncCommands<byte[], byte[]> appends;
  private final InsertClient insertClient;
  private final Lock readLock = new ReentrantLock();

  RedisStreamPipeline(String url, InsertClient insertClient) {
    this.insertClient = insertClient;
    redis = RedisClient.create(url);
    var connection = redis.connect(ByteArrayCodec.INSTANCE);
    appends = connection.async();
    try {
      var _ =
          connection
              .sync()
              .xgroupCreate(
                  StreamOffset.from(bytes(STREAM), "0"),
                  bytes(GROUP),
                  XGroupCreateArgs.Builder.mkstream());
    } catch (RedisBusyException _) {
      // the group exists already
    }
  }

  @Override
  public CompletionStage<?> submit(Rows rows) {
    return appends.xadd(bytes(STREAM), Map.of(bytes(Integer.toString(rows.logs())), rows.lines()));
  }

  /** Starts the consumers, each with a thread, a connection and an insert of its own. */
  RedisStreamPipeline startConsumers(int consumers, ThreadFactory threads) {
    for (int i = 0; i < consumers; i++) {
      var loop = new ConsumerLoop("consumer-" + i);
      threads.newThread(loop).start();
    }
    return this;
  }

  private static byte[] bytes(String text) {
    return text.getBytes(US_ASCII);
  }

  /**
   * An entry of the stream. In Redis it has one field, whose name is the number of logs and whose
   * value has the lines.
   */
  private record QueuedRows(String id, Rows rows) {

    static QueuedRows of(StreamMessage<byte[], byte[]> message) {
      var field = message.getBody().entrySet().iterator().next();
      int logs = Integer.parseInt(new String(field.getKey(), US_ASCII));
      return new QueuedRows(message.getId(), new Rows(field.getValue(), logs));
    }
  }

  /** The loop of one consumer. */
  private final class ConsumerLoop implements Runnable {
    private final RedisCommands<byte[], byte[]> commands =
        redis.connect(ByteArrayCodec.INSTANCE).sync();
    private final Consumer<byte[]> consumer;

    ConsumerLoop(String name) {
      consumer = Consumer.from(bytes(GROUP), bytes(name));
    }

    @Override
    public void run() {
      try {
        var unacked = StreamOffset.from(bytes(STREAM), "0");
        for (var entries = read(unacked); !entries.isEmpty(); entries = read(unacked)) {
          store(entries);
        }
        while (true) {
          store(readBatch());
        }
      } catch (InterruptedException _) {
        Thread.currentThread().interrupt();
      }
    }

    /**
     * Reads a batch. Consumers read in turn: concurrent readers would each collect few entries, and
     * all would poll Redis all the time.
     */
    private List<QueuedRows> readBatch() throws InterruptedException {
      var newEntries = StreamOffset.lastConsumed(bytes(STREAM));
      var entries = new ArrayList<QueuedRows>();
      int logs = 0;
      readLock.lockInterruptibly();
      try {
        long first = System.nanoTime();
        while (logs < MAX_BATCH_LOGS && System.nanoTime() - first < LINGER.toNanos()) {
          var more = read(newEntries);
          entries.addAll(more);
          logs += more.stream().mapToInt(each -> each.rows.logs()).sum();
          if (entries.isEmpty()) {
            first = System.nanoTime();
          }
          if (more.size() < READ_COUNT) {
            // a blocking read in Redis would return entries one by one
            Thread.sleep(POLL_INTERVAL);
          }
        }
      } finally {
        readLock.unlock();
      }
      return entries;
    }

    @SuppressWarnings("unchecked") // the generic array of the only stream
    private List<QueuedRows> read(StreamOffset<byte[]> from) {
      var args = XReadArgs.Builder.count(READ_COUNT);
      return commands.xreadgroup(consumer, args, from).stream().map(QueuedRows::of).toList();
    }

    private void store(List<QueuedRows> entries) throws InterruptedException {
      var rows = Rows.merge(entries.stream().map(QueuedRows::rows).toList());
      for (boolean stored = false; !stored; ) {
        try {
          insertClient.insert(rows).join();
          stored = true;
        } catch (CompletionException e) {
          System.err.printf("insert of %d logs failed, retrying: %s%n", rows.logs(), e.getCause());
          Thread.sleep(RETRY_DELAY);
        }
      }
      var ids = entries.stream().map(QueuedRows::id).toArray(String[]::new);
      commands.xack(bytes(STREAM), bytes(GROUP), ids);
      commands.xdel(bytes(STREAM), ids);
    }
  }
}
