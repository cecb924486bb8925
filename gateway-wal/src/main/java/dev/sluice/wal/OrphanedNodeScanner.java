package dev.sluice.wal;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Objects;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/**
 * Finds undelivered records in the directories of other nodes: left by a process with another node
 * id, or by a process that now uses another WAL directory. Only reads, because another process may
 * use such a directory and deliver its records.
 */
final class OrphanedNodeScanner {
  private static final Logger LOG = LoggerFactory.getLogger(OrphanedNodeScanner.class);
  private static final JsonMapper JSON = JsonMapper.shared();
  private static final String PREFIX = "node-";

  private OrphanedNodeScanner() {}

  /**
   * Returns the approximate number of undelivered records by node id, without nodes that have none.
   *
   * @param logs the directory {@code log.wal}, which may be missing
   * @param own the node id to exclude; null for none
   */
  static SortedMap<String, Long> scan(Path logs, @Nullable String own) throws IOException {
    var orphaned = new TreeMap<String, Long>();
    if (!Files.isDirectory(logs)) {
      return orphaned;
    }
    try (var nodes = Files.newDirectoryStream(logs, PREFIX + "*")) {
      for (var node : nodes) {
        var name = node.getFileName().toString().substring(PREFIX.length());
        long records = name.equals(own) ? 0 : undeliveredRecords(node);
        if (records > 0) {
          orphaned.put(name, records);
        }
      }
    }
    return orphaned;
  }

  private static long undeliveredRecords(Path node) {
    try {
      var state = loadState(node.resolve("journal"));
      var acked = state.ackedPosition();
      long records =
          state.skippedFrames().stream()
              // skipped frames after the acknowledged position are counted from the index below
              .filter(frame -> !ConsumerState.isAfter(frame.position(), acked))
              .mapToLong(JournalEvent.FrameSkipped::records)
              .sum();
      for (var segment : SegmentName.list(node)) {
        var index = segment.index(node);
        if (Files.exists(index)) {
          try (var lines = Files.lines(index, UTF_8)) {
            records +=
                lines
                    .map(line -> IndexLine.parse(segment, line))
                    .filter(Objects::nonNull)
                    .filter(frame -> ConsumerState.isAfter(frame.position(), acked))
                    .mapToLong(SegmentLog.IndexEntry::records)
                    .sum();
          }
        }
      }
      return records;
    } catch (IOException | RuntimeException e) { // such as a journal that is being written
      LOG.warn("cannot count the undelivered records in {}: {}", node, e.toString());
      return 0;
    }
  }

  private static ConsumerState loadState(Path journal) throws IOException {
    var state =
        new ConsumerState(new IdempotencyKeyTable(1, Duration.ofDays(1), InstantSource.system()));
    if (Files.exists(journal)) {
      Journal.replay(journal, line -> restore(state, line));
    }
    return state;
  }

  private static void restore(ConsumerState state, String line) {
    try {
      state.restore(JSON.readValue(line, JournalEvent.class));
    } catch (JacksonException e) {
      throw new IllegalStateException(e.getOriginalMessage(), e);
    }
  }
}
