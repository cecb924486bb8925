package dev.sluice.api.config;

import dev.sluice.api.config.FileWatcher.FileFormat;
import dev.sluice.redaction.InvalidRulesException;
import dev.sluice.redaction.RedactionFile;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The file of the redaction rules, in YAML. */
final class RedactionRulesFile implements FileWatcher.Handler<RedactionFile> {
  static final int MAX_LINES = 10_000;
  static final int MAX_BYTES = 1 << 20;

  private static final FileFormat FORMAT =
      new FileFormat("sluice.redaction.rules-file", "redaction rules", MAX_LINES, MAX_BYTES);
  private static final Logger LOG = LoggerFactory.getLogger(RedactionRulesFile.class);

  private RedactionRulesFile() {}

  /**
   * Reads the rules.
   *
   * @throws IllegalArgumentException when the file is invalid; the message names the setting
   */
  static FileWatcher<RedactionFile> read(Path path) {
    return FileWatcher.read(path, new RedactionRulesFile());
  }

  @Override
  public FileFormat format() {
    return FORMAT;
  }

  @Override
  public RedactionFile parse(List<String> lines) throws IOException {
    try {
      return RedactionFile.parse(String.join("\n", lines));
    } catch (InvalidRulesException e) {
      throw new IOException(e.getMessage(), e);
    }
  }

  @Override
  public void onLoaded(Path path, RedactionFile rules) {
    LOG.info("redaction rules loaded: {} rules of {}", rules.rules().size(), path);
  }
}
