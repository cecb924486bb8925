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
 * Logs in the folders of other nodes, which a process had that was called otherwise, or that kept
 * its logs elsewhere since. Only looks: another process may have such a folder, and be about to
 * deliver what is there.
 */
final class OrphanedNodeScanner {
  private static final Logger LOG = LoggerFactory.getLogger(OrphanedNodeScanner.class);
  private static final JsonMapper JSON = JsonMapper.shared();
  private static final String PREFIX = "node-";

  private OrphanedNodeScanner() {}

  /**
   * Log records that are not delivered, about, by node; nodes without any are left out.
   *
   * @param logs folder {@code log.wal}, which need not be there
   * @param own node that is not looked at; null for none
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
              .filter(
                  one -> !ConsumerState.isAfter(one.position(), acked)) // the others are seen below
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
    } catch (IOException | RuntimeException e) { // such as one that is being written
      LOG.warn("what is left in {} is not known: {}", node, e.toString());
      return 0;
    }
  }

  private static ConsumerState loadState(Path journal) throws IOException {
    var state =
        new ConsumerState(
            new DeadLetterTable(Integer.MAX_VALUE),
            new IdempotencyKeyTable(1, Duration.ofDays(1), InstantSource.system()));
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
