package dev.sluice.core.ingest;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.port.IdempotencyStore;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The options of an ingest request, from its HTTP headers or gRPC metadata.
 *
 * @param level the acknowledgement level
 * @param key the idempotency key; null when the request has none
 */
public record IngestOptions(AckLevel level, @Nullable String key) {

  /** The options of a request that specifies none. */
  public static final IngestOptions DEFAULT = new IngestOptions(AckLevel.DURABLE, null);

  /** The name of the header with the acknowledgement level, in lower case as gRPC requires. */
  public static final String ACK_HEADER = "sluice-ack";

  public static final String IDEMPOTENCY_KEY_HEADER = "idempotency-key";
  public static final String IDEMPOTENCY_REPLAYED_HEADER = "idempotency-replayed";

  private static final int MAX_KEY_LENGTH = 255;

  // not a compact constructor: javac does not export the nullness of its parameters
  public IngestOptions(AckLevel level, @Nullable String key) {
    this.level = level;
    this.key = key;
  }

  /**
   * Parses the options. A request with a key has at least the level {@link AckLevel#DURABLE}.
   *
   * @param ack the value of {@link #ACK_HEADER}; null when there is none
   * @param key the value of {@link #IDEMPOTENCY_KEY_HEADER}; null when there is none
   * @throws IllegalArgumentException when a value is invalid, with a message for the client
   */
  public static IngestOptions parse(@Nullable String ack, @Nullable String key) {
    if (ack == null && key == null) {
      return DEFAULT;
    }
    var level =
        switch (ack) {
          case null -> AckLevel.DURABLE;
          case "accepted" -> AckLevel.ACCEPTED;
          case "durable" -> AckLevel.DURABLE;
          case "stored" -> AckLevel.STORED;
          default ->
              throw new IllegalArgumentException(
                  ACK_HEADER + " is not one of accepted, durable, stored");
        };
    if (key == null) {
      return new IngestOptions(level, null);
    }
    if (key.isEmpty()
        || key.length() > MAX_KEY_LENGTH
        || !key.chars().allMatch(IngestOptions::isVisible)) {
      throw new IllegalArgumentException(
          IDEMPOTENCY_KEY_HEADER + " is not 1 to " + MAX_KEY_LENGTH + " visible ASCII characters");
    }
    // at level accepted, logs in memory could be lost although their key counts as used
    return new IngestOptions(level == AckLevel.ACCEPTED ? AckLevel.DURABLE : level, key);
  }

  private static boolean isVisible(int character) {
    return character > ' ' && character <= '~';
  }

  /**
   * Creates the context of a request.
   *
   * @param protocol the protocol of the request, for the metrics and for the digest of the request
   * @param body the decompressed body of the request
   */
  public IngestService.RequestContext toContext(String protocol, byte[] body) {
    return new IngestService.RequestContext(
        protocol,
        level,
        key == null
            ? null
            : new IdempotencyStore.IdempotencyKey(
                IngestService.DEFAULT_TENANT, key, digest(protocol, body)));
  }

  private static UUID digest(String protocol, byte[] body) {
    try {
      var sha = MessageDigest.getInstance("SHA-256");
      sha.update(protocol.getBytes(UTF_8));
      sha.update((byte) 0);
      var digest = ByteBuffer.wrap(sha.digest(body));
      return new UUID(digest.getLong(), digest.getLong());
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }
}
