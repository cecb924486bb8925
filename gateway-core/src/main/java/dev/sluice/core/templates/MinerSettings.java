package dev.sluice.core.templates;

/**
 * What mining may hold in memory. Past either bound, messages that are of no template yet are of
 * the catch-all; those of known templates stay what they are.
 *
 * @param maxTemplatesPerService templates that the messages of one service of a tenant may have
 *     brought in since the start, less those that were generalised away; from 1 to 100,000. A
 *     service has some hundred log statements, a large one two thousand
 * @param maxBytes what all templates of all tenants may take, estimated; from 64 KiB. A template
 *     takes about half a kilobyte
 */
public record MinerSettings(int maxTemplatesPerService, long maxBytes) {
  public static final int MAX_TEMPLATES_PER_SERVICE = 100_000;
  public static final long MIN_BYTES = 64 << 10;

  public MinerSettings {
    if (maxTemplatesPerService < 1 || maxTemplatesPerService > MAX_TEMPLATES_PER_SERVICE) {
      throw new IllegalArgumentException(
          "templatesPerService is %d, not from 1 to %d"
              .formatted(maxTemplatesPerService, MAX_TEMPLATES_PER_SERVICE));
    }
    if (maxBytes < MIN_BYTES) {
      throw new IllegalArgumentException(
          "bytes is %d, less than %d".formatted(maxBytes, MIN_BYTES));
    }
  }

  /** 2,000 templates a service, 64 MiB in all. */
  public static MinerSettings defaults() {
    return new MinerSettings(2000, 64 << 20);
  }
}
