package dev.sluice.api.boot;

import dev.sluice.core.ingest.BodyAllowlist;
import java.nio.file.Path;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An allow list as a file: one message a line; lines that are blank or begin with {@code #} are
 * none.
 */
final class AllowListFile implements WatchedFile.Content<BodyAllowlist> {
  static final int MOST_LINES = 100_000;
  static final int MOST_BYTES = 16 << 20;

  private static final Logger LOG = LoggerFactory.getLogger(AllowListFile.class);

  private AllowListFile() {}

  /**
   * Reads the list for the first time.
   *
   * @throws IllegalArgumentException when it cannot be used, naming the setting
   */
  static WatchedFile<BodyAllowlist> read(Path path) {
    return WatchedFile.read(path, new AllowListFile());
  }

  @Override
  public String setting() {
    return "sluice.filter.file";
  }

  @Override
  public String title() {
    return "the allow list";
  }

  @Override
  public int mostLines() {
    return MOST_LINES;
  }

  @Override
  public int mostBytes() {
    return MOST_BYTES;
  }

  @Override
  public BodyAllowlist parse(List<String> lines) {
    return BodyAllowlist.of(
        lines.stream().filter(line -> !line.isBlank() && !line.startsWith("#")).toList());
  }

  @Override
  public void inForce(Path path, BodyAllowlist list) {
    if (list.size() == 0) {
      LOG.warn("the allow list {} is empty: no logs are taken", path);
    } else {
      LOG.info("logs are taken that are on the allow list {}: {} messages", path, list.size());
    }
  }
}
