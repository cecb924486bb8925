package dev.sluice.core.domain;

/**
 * The one table of limits: every entrance, the OpenAPI document and the database obey it, so that
 * what was accepted can always be stored.
 *
 * <p>All sizes are bytes of UTF-8 or of the OTLP encoding, all counts are inclusive maxima. A
 * request over a request limit is refused whole (413); a record over a record limit is refused
 * alone and costs its neighbours nothing.
 *
 * @param maxRequestBytes one request, on the wire and again after decompression; the OTLP
 *     specification recommends 64 MiB
 * @param maxRecords log records in one request
 * @param maxExpandedBytes all records of one request, each counted with its resource and scope: a
 *     resource is sent once but stored with every record, and a large one must not multiply
 * @param maxBodyBytes the body of one record; refused, never cut: a truncated stack trace misleads
 * @param maxAttributes attributes of one record, resource or scope; at most 1024
 * @param maxKeyBytes an attribute's key
 * @param maxValueBytes an attribute's value
 * @param maxNameBytes scope, event and severity names and schema URLs; service and host are
 *     attributes
 * @param maxNesting depth of lists and maps in a body or an attribute; at most 64
 */
public record Limits(
    int maxRequestBytes,
    int maxRecords,
    int maxExpandedBytes,
    int maxBodyBytes,
    int maxAttributes,
    int maxKeyBytes,
    int maxValueBytes,
    int maxNameBytes,
    int maxNesting) {

  private static final int KIB = 1024;
  private static final int MIB = KIB * KIB;
  private static final int MAX_ATTRIBUTES = 1024;
  private static final int MAX_NESTING = 64;

  /** What holds when nothing is configured. */
  public static final Limits DEFAULT =
      new Limits(64 * MIB, 200_000, 256 * MIB, MIB, 256, 256, 64 * KIB, 1024, 32);

  /**
   * For bytes whose records were judged before: a limit lowered since must not refuse what was
   * accepted. Two stay, because records that were refused are still gone through: reading recurses
   * by the depth, and looks among the attributes for equal keys.
   */
  public static final Limits TRUSTED =
      new Limits(
          Integer.MAX_VALUE,
          Integer.MAX_VALUE,
          Integer.MAX_VALUE,
          Integer.MAX_VALUE,
          MAX_ATTRIBUTES,
          Integer.MAX_VALUE,
          Integer.MAX_VALUE,
          Integer.MAX_VALUE,
          MAX_NESTING);

  public Limits {
    requirePositive("max-request-bytes", maxRequestBytes);
    requirePositive("max-records", maxRecords);
    requirePositive("max-expanded-bytes", maxExpandedBytes);
    requirePositive("max-body-bytes", maxBodyBytes);
    requirePositive("max-attributes", maxAttributes);
    requirePositive("max-key-bytes", maxKeyBytes);
    requirePositive("max-value-bytes", maxValueBytes);
    requirePositive("max-name-bytes", maxNameBytes);
    requirePositive("max-nesting", maxNesting);
    requireAtMost(MAX_ATTRIBUTES, "max-attributes", maxAttributes);
    requireAtMost(MAX_NESTING, "max-nesting", maxNesting);
  }

  private static void requireAtMost(int max, String name, int value) {
    if (value > max) {
      throw new IllegalArgumentException(name + " is " + value + ", at most " + max);
    }
  }

  private static void requirePositive(String name, int value) {
    if (value <= 0) {
      throw new IllegalArgumentException(name + " is " + value + ", must be positive");
    }
  }
}
