package dev.sluice.api.boot;

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
 * @param dir below which {@code log.wal} lies
 * @param node name of this process's own folder in the write-ahead log, the same after a restart;
 *     letters, digits, {@code .}, {@code _} and {@code -}; by default {@code sluice.instance}
 * @param compression of new segments: zstd or gzip
 * @param fsync when what was written is forced to the disk: flush, before it counts as safe;
 *     interval, now and then; or never. With the latter two a power failure may cost logs that were
 *     answered as durable; a dying process does not
 * @param fsyncInterval how often, where {@code sluice.wal.fsync} is interval
 * @param flushInterval how long logs of level {@code accepted} lie in memory at most before they
 *     are written; 0 for as long as they are few ({@code sluice.wal.flush-bytes}), and for 2s where
 *     that is 0 too
 * @param flushBytes how many bytes of logs of level {@code accepted} lie in memory at most, before
 *     compression; 0 for as many as come within {@code sluice.wal.flush-interval}
 * @param queueBytes bytes that all logs may hold until they are written, copies included; beyond it
 *     clients are told to come again; 0 for an eighth of the heap, at most 256MB
 * @param segmentBytes at which a new segment is begun
 * @param segmentRollInterval at which a new segment is begun; one is begun each day (UTC) too
 * @param retainedBytesHighWatermark bytes of segments all of whose logs are delivered, from which
 *     on the oldest are removed
 * @param retainedBytesLowWatermark bytes of such segments at which that ends
 * @param minFreeDisk bytes of the disk that are left free: clients are told to come again before
 *     the disk is full, so that what is there can be delivered
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

  /** As timers count it. */
  private static final Duration NEVER = Duration.ofDays(365);

  private static final Pattern NODE_PATTERN = Pattern.compile("[A-Za-z0-9._-]{1,200}");
  private static final Pattern INVALID_NODE_CHARACTER = Pattern.compile("[^A-Za-z0-9._-]");

  WalProperties {
    if (node != null && !NODE_PATTERN.matcher(node).matches()) {
      throw new IllegalArgumentException(
          "sluice.wal.node must be 1 to 200 letters, digits, '.', '_' and '-', is " + node);
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
          "sluice.wal.retained-bytes-low-watermark is %s, must not be above sluice.wal.retained-bytes-high-watermark, which is %s"
              .formatted(retainedBytesLowWatermark, retainedBytesHighWatermark));
    }
    if (minFreeDisk.isNegative()) {
      throw new IllegalArgumentException(
          "sluice.wal.min-free-disk is " + minFreeDisk + ", must not be negative");
    }
  }

  /** The node's name; an instance may be called what a folder may not. */
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

  /** Without either bound nothing would ever be written. */
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
