package dev.sluice.core.ingest;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.port.IdempotencyStore;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * What a client asks for beside its logs, in the headers or metadata of its request.
 *
 * @param level to be reached before it is answered
 * @param key under which the request is taken once; null when it has none
 */
public record IngestOptions(AckLevel level, @Nullable String key) {

  /** Of a request that says nothing. */
  public static final IngestOptions DEFAULT = new IngestOptions(AckLevel.DURABLE, null);

  /** Names of the headers, in lower case as gRPC wants them. */
  public static final String ACK_HEADER = "sluice-ack";

  public static final String IDEMPOTENCY_KEY_HEADER = "idempotency-key";
  public static final String IDEMPOTENCY_REPLAYED_HEADER = "idempotency-replayed";

  private static final int MAX_KEY_LENGTH = 255;

  // spelled out: of a compact constructor's parameters, javac tells other modules no nullness
  public IngestOptions(AckLevel level, @Nullable String key) {
    this.level = level;
    this.key = key;
  }

  /**
   * @param ack value of {@link #ACK_HEADER}; null when there is none
   * @param key value of {@link #IDEMPOTENCY_KEY_HEADER}; null when there is none
   * @throws IllegalArgumentException with words for the client, when either cannot be understood
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
    // what is only in memory could be lost after its key was promised to hold
    return new IngestOptions(level == AckLevel.ACCEPTED ? AckLevel.DURABLE : level, key);
  }

  private static boolean isVisible(int character) {
    return character > ' ' && character <= '~';
  }

  /**
   * @param protocol by which way the request came, for the meters and for its digest
   * @param body of the request, decompressed
   */
  public IngestService.RequestContext toRequest(String protocol, byte[] body) {
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
      throw new IllegalStateException(e); // every Java has it
    }
  }
}
