package dev.sluice.templates;

/**
 * Memory limits of the template miner. When a limit is reached, a message that matches no template
 * belongs to the catch-all template; messages of known templates are not affected.
 *
 * @param maxTemplatesPerService maximum number of templates that the messages of one service of a
 *     tenant have added since the start, less those that were generalised; from 1 to 100,000. A
 *     service has some hundred log statements, a large one two thousand
 * @param maxBytes maximum estimated size of all templates of all tenants, at least 64 KiB. A
 *     template takes about half a kilobyte
 */
public record MinerSettings(int maxTemplatesPerService, long maxBytes) {
  public static final int MAX_TEMPLATES_PER_SERVICE = 100_000;
  public static final long MIN_BYTES = 64 << 10;

  public MinerSettings {
    if (maxTemplatesPerService < 1 || maxTemplatesPerService > MAX_TEMPLATES_PER_SERVICE) {
      throw new IllegalArgumentException(
          "maxTemplatesPerService is %d, must be from 1 to %d"
              .formatted(maxTemplatesPerService, MAX_TEMPLATES_PER_SERVICE));
    }
    if (maxBytes < MIN_BYTES) {
      throw new IllegalArgumentException(
          "maxBytes is %d, must be at least %d".formatted(maxBytes, MIN_BYTES));
    }
  }

  /** Returns the defaults: 2,000 templates per service, 64 MiB in total. */
  public static MinerSettings defaults() {
    return new MinerSettings(2000, 64 << 20);
  }
}
