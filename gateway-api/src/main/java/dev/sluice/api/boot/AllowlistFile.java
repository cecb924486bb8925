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
final class AllowlistFile implements FileWatcher.Handler<BodyAllowlist> {
  static final int MAX_LINES = 100_000;
  static final int MAX_BYTES = 16 << 20;

  private static final Logger LOG = LoggerFactory.getLogger(AllowlistFile.class);

  private AllowlistFile() {}

  /**
   * Reads the list for the first time.
   *
   * @throws IllegalArgumentException when it cannot be used, naming the setting
   */
  static FileWatcher<BodyAllowlist> read(Path path) {
    return FileWatcher.read(path, new AllowlistFile());
  }

  @Override
  public String setting() {
    return "sluice.filter.allowlist-file";
  }

  @Override
  public String title() {
    return "the allow list";
  }

  @Override
  public int maxLines() {
    return MAX_LINES;
  }

  @Override
  public int maxBytes() {
    return MAX_BYTES;
  }

  @Override
  public BodyAllowlist parse(List<String> lines) {
    return BodyAllowlist.of(
        lines.stream().filter(line -> !line.isBlank() && !line.startsWith("#")).toList());
  }

  @Override
  public void onLoaded(Path path, BodyAllowlist list) {
    if (list.size() == 0) {
      LOG.warn("the allow list {} is empty: no logs are taken", path);
    } else {
      LOG.info("logs are taken that are on the allow list {}: {} messages", path, list.size());
    }
  }
}
