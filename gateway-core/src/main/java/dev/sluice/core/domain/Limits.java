package dev.sluice.core.domain;

/**
 * The limits of requests and log records. All protocols, the OpenAPI document and the tables use
 * these same limits, so that every accepted record can be stored.
 *
 * <p>All sizes are bytes of UTF-8 or of the OTLP encoding; all limits are inclusive maxima. A
 * request over a request limit is rejected as a whole (HTTP 413); a record over a record limit is
 * rejected alone, and the other records of its request are accepted.
 *
 * @param maxRequestBytes the maximum size of one request, on the wire and again after
 *     decompression; the OTLP specification recommends 64 MiB
 * @param maxRecords the maximum number of log records in one request
 * @param maxExpandedBytes the maximum size of all records of one request, each counted with its
 *     resource and scope: a resource is sent once but stored with every record, so a large resource
 *     would multiply
 * @param maxBodyBytes the maximum size of the body of one record; a larger record is rejected,
 *     never truncated, because a truncated stack trace is misleading
 * @param maxAttributes the maximum number of attributes of one record, resource or scope, with each
 *     repetition of a key; at most 1024
 * @param maxKeyBytes the maximum size of an attribute key
 * @param maxValueBytes the maximum size of an attribute value
 * @param maxNameBytes the maximum size of scope, event and severity names and of schema URLs; the
 *     service and host names are attributes
 * @param maxNesting the maximum depth of lists and maps in a body or an attribute; at most 64
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

  /** The limits that apply when nothing is configured. */
  public static final Limits DEFAULT =
      new Limits(64 * MIB, 200_000, 256 * MIB, MIB, 256, 256, 64 * KIB, 1024, 32);

  /**
   * The limits for bytes that are already validated: a limit that is lowered later must not reject
   * accepted records. Two limits have the highest value that they can have at ingest: reading
   * recurses to the nesting depth, and keeps an object for each attribute.
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
