package dev.sluice.core.templates;

/**
 * What mining may hold in memory. Past either bound, messages that are of no template yet are of
 * the catch-all; those of known templates stay what they are.
 *
 * @param templatesPerService templates that the messages of one service of a tenant may have
 *     brought in since the start, less those that were generalised away; from 1 to 100,000. A
 *     service has some hundred log statements, a large one two thousand
 * @param bytes what all templates of all tenants may take, estimated; from 64 KiB. A template takes
 *     about half a kilobyte
 */
public record MinerSettings(int templatesPerService, long bytes) {
  public MinerSettings {
    if (templatesPerService < 1 || templatesPerService > 100_000) {
      throw new IllegalArgumentException(
          "templatesPerService is " + templatesPerService + ", not from 1 to 100000");
    }
    if (bytes < 64 << 10) {
      throw new IllegalArgumentException("bytes is " + bytes + ", less than 65536");
    }
  }

  /** 2,000 templates a service, 64 MiB in all. */
  public static MinerSettings standard() {
    return new MinerSettings(2000, 64 << 20);
  }
}
