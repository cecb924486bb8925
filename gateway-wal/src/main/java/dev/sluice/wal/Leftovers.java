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
final class Leftovers {
  private static final Logger LOG = LoggerFactory.getLogger(Leftovers.class);
  private static final JsonMapper JSON = JsonMapper.shared();
  private static final String PREFIX = "node-";

  private Leftovers() {}

  /**
   * Log records that are not delivered, about, by node; nodes without any are left out.
   *
   * @param logs folder {@code log.wal}, which need not be there
   * @param own node that is not looked at; null for none
   */
  static SortedMap<String, Long> in(Path logs, @Nullable String own) throws IOException {
    var left = new TreeMap<String, Long>();
    if (!Files.isDirectory(logs)) {
      return left;
    }
    try (var nodes = Files.newDirectoryStream(logs, PREFIX + "*")) {
      for (var node : nodes) {
        var name = node.getFileName().toString().substring(PREFIX.length());
        long records = name.equals(own) ? 0 : records(node);
        if (records > 0) {
          left.put(name, records);
        }
      }
    }
    return left;
  }

  private static long records(Path node) {
    try {
      var book = book(node.resolve("journal"));
      var settled = book.settled();
      long records =
          book.aside().stream()
              .filter(one -> !Book.isBehind(one.position(), settled)) // the others are seen below
              .mapToLong(Event.Aside::records)
              .sum();
      for (var segment : SegmentName.list(node)) {
        var index = segment.index(node);
        if (Files.exists(index)) {
          try (var lines = Files.lines(index, UTF_8)) {
            records +=
                lines
                    .map(line -> IndexLine.parse(segment, line))
                    .filter(Objects::nonNull)
                    .filter(frame -> Book.isBehind(frame.position(), settled))
                    .mapToLong(Segments.Indexed::records)
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

  private static Book book(Path journal) throws IOException {
    var book =
        new Book(
            new Letters(Integer.MAX_VALUE),
            new Keys(1, Duration.ofDays(1), InstantSource.system()));
    if (Files.exists(journal)) {
      Journal.replay(journal, line -> restore(book, line));
    }
    return book;
  }

  private static void restore(Book book, String line) {
    try {
      book.restore(JSON.readValue(line, Event.class));
    } catch (JacksonException e) {
      throw new IllegalStateException(e.getOriginalMessage(), e);
    }
  }
}
