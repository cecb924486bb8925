package dev.sluice.api.config;

import dev.sluice.wal.Compression;
import dev.sluice.wal.WalSpool.Fsync;
import dev.sluice.wal.WalSpool.SegmentSettings;
import dev.sluice.wal.WalSpool.WriteSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * The write-ahead log on the local disk.
 *
 * @param dir directory that contains the directory {@code log.wal}
 * @param node name of the directory of this process in the write-ahead log, stable across restarts;
 *     1 to 200 letters, digits, {@code .}, {@code _} and {@code -}; unset means {@code
 *     sluice.instance}
 * @param compression compression of new segments: zstd or gzip
 * @param fsync when written logs are forced to the disk: flush, before their acknowledgement;
 *     interval, every {@code sluice.wal.fsync-interval}; or never. With interval and never a power
 *     failure can lose logs that were acknowledged as durable; the end of the process cannot
 * @param fsyncInterval interval between two fsyncs when {@code sluice.wal.fsync} is interval
 * @param flushInterval time that logs of level {@code accepted} stay in memory before they are
 *     written; 0 means no time limit, or 2s when {@code sluice.wal.flush-bytes} is 0, too
 * @param flushBytes size of logs of level {@code accepted}, before compression, at which they are
 *     written; 0 means no size limit
 * @param queueBytes memory of all logs that are not written yet, including copies; above it the
 *     gateway answers 503 with Retry-After; 0 means an eighth of the heap, at most 256MB
 * @param segmentBytes size at which a new segment starts
 * @param segmentRollInterval age at which a new segment starts; each day (UTC) starts one, too
 * @param retainedBytesHighWatermark total size of fully delivered segments at which the gateway
 *     starts to delete the oldest
 * @param retainedBytesLowWatermark total size of such segments at which it stops
 * @param minFreeDisk disk space that appends leave free, so that delivery can write its state;
 *     below it the write-ahead log rejects logs until space is free again; 0 means no limit
 */
@ConfigurationProperties("sluice.wal")
record WalProperties(
    @DefaultValue("./data") Path dir,
    @Nullable String node,
    @DefaultValue("zstd") Compression compression,
    @DefaultValue("flush") Fsync fsync,
    @DefaultValue("1s") Duration fsyncInterval,
    @DefaultValue("2s") Duration flushInterval,
    @DefaultValue("64MB") DataSize flushBytes,
    @DefaultValue("0B") DataSize queueBytes,
    @DefaultValue("1GB") DataSize segmentBytes,
    @DefaultValue("1d") Duration segmentRollInterval,
    @DefaultValue("2GB") DataSize retainedBytesHighWatermark,
    @DefaultValue("1536MB") DataSize retainedBytesLowWatermark,
    @DefaultValue("256MB") DataSize minFreeDisk) {

  /** A period that never ends in practice, and that timers support. */
  private static final Duration NEVER = Duration.ofDays(365);

  private static final Pattern NODE_PATTERN = Pattern.compile("[A-Za-z0-9._-]{1,200}");
  private static final Pattern INVALID_NODE_CHARACTER = Pattern.compile("[^A-Za-z0-9._-]");

  WalProperties {
    if (node != null && !NODE_PATTERN.matcher(node).matches()) {
      throw new IllegalArgumentException(
          "sluice.wal.node is " + node + ", must be 1 to 200 letters, digits, '.', '_' and '-'");
    }
    PropertyChecks.requirePositive("sluice.wal.fsync-interval", fsyncInterval);
    if (flushInterval.isNegative()) {
      throw new IllegalArgumentException(
          "sluice.wal.flush-interval is " + flushInterval + ", must not be negative");
    }
    if (flushBytes.isNegative()) {
      throw new IllegalArgumentException(
          "sluice.wal.flush-bytes is " + flushBytes + ", must not be negative");
    }
    queueBytes = PropertyChecks.orHeapFraction(queueBytes);
    PropertyChecks.requirePositive("sluice.wal.queue-bytes", queueBytes);
    PropertyChecks.requirePositive("sluice.wal.segment-bytes", segmentBytes);
    PropertyChecks.requirePositive("sluice.wal.segment-roll-interval", segmentRollInterval);
    if (retainedBytesLowWatermark.isNegative()) {
      throw new IllegalArgumentException(
          "sluice.wal.retained-bytes-low-watermark is "
              + retainedBytesLowWatermark
              + ", must not be negative");
    }
    if (retainedBytesLowWatermark.compareTo(retainedBytesHighWatermark) > 0) {
      throw new IllegalArgumentException(
          ("sluice.wal.retained-bytes-low-watermark is %s, must not be above"
                  + " sluice.wal.retained-bytes-high-watermark, which is %s")
              .formatted(retainedBytesLowWatermark, retainedBytesHighWatermark));
    }
    if (minFreeDisk.isNegative()) {
      throw new IllegalArgumentException(
          "sluice.wal.min-free-disk is " + minFreeDisk + ", must not be negative");
    }
  }

  /**
   * Returns the node name; without one the name of the instance, with {@code -} for each character
   * that a directory name must not have.
   */
  String nodeOrElse(String instance) {
    return node == null ? INVALID_NODE_CHARACTER.matcher(instance).replaceAll("-") : node;
  }

  WriteSettings writeSettings() {
    return new WriteSettings(
        compression,
        fsync,
        fsyncInterval,
        effectiveFlushInterval(),
        effectiveFlushBytes(),
        queueBytes.toBytes());
  }

  /** Without both bounds nothing would ever be written, so the time limit is 2 s then. */
  private Duration effectiveFlushInterval() {
    if (!flushInterval.isZero()) {
      return flushInterval;
    }
    return flushBytes.toBytes() == 0 ? Duration.ofSeconds(2) : NEVER;
  }

  private long effectiveFlushBytes() {
    return flushBytes.toBytes() == 0 ? Long.MAX_VALUE : flushBytes.toBytes();
  }

  SegmentSettings segmentSettings() {
    return new SegmentSettings(
        segmentBytes.toBytes(),
        segmentRollInterval,
        retainedBytesHighWatermark.toBytes(),
        retainedBytesLowWatermark.toBytes(),
        minFreeDisk.toBytes());
  }
}
