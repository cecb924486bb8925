package dev.sluice.core.ingest;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.port.IdempotencyKeys;
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
public record Asked(AckLevel level, @Nullable String key) {

  /** Of a request that says nothing. */
  public static final Asked NOTHING = new Asked(AckLevel.DURABLE, null);

  /** Names of the headers, in lower case as gRPC wants them. */
  public static final String ACK = "sluice-ack";

  public static final String KEY = "idempotency-key";
  public static final String REPLAYED = "idempotency-replayed";

  private static final int LONGEST_KEY = 255;

  // spelled out: of a compact constructor's parameters, javac tells other modules no nullness
  public Asked(AckLevel level, @Nullable String key) {
    this.level = level;
    this.key = key;
  }

  /**
   * @param ack value of {@link #ACK}; null when there is none
   * @param key value of {@link #KEY}; null when there is none
   * @throws IllegalArgumentException with words for the client, when either cannot be understood
   */
  public static Asked of(@Nullable String ack, @Nullable String key) {
    if (ack == null && key == null) {
      return NOTHING;
    }
    var level =
        switch (ack) {
          case null -> AckLevel.DURABLE;
          case "accepted" -> AckLevel.ACCEPTED;
          case "durable" -> AckLevel.DURABLE;
          case "stored" -> AckLevel.STORED;
          default ->
              throw new IllegalArgumentException(ACK + " is not one of accepted, durable, stored");
        };
    if (key == null) {
      return new Asked(level, null);
    }
    if (key.isEmpty() || key.length() > LONGEST_KEY || !key.chars().allMatch(Asked::isVisible)) {
      throw new IllegalArgumentException(
          KEY + " is not 1 to " + LONGEST_KEY + " visible ASCII characters");
    }
    // what is only in memory could be lost after its key was promised to hold
    return new Asked(level == AckLevel.ACCEPTED ? AckLevel.DURABLE : level, key);
  }

  private static boolean isVisible(int character) {
    return character > ' ' && character <= '~';
  }

  /**
   * @param entrance by which way the request came, for the meters and for its digest
   * @param body of the request, decompressed
   */
  public IngestLogs.Request at(String entrance, byte[] body) {
    return new IngestLogs.Request(
        entrance,
        level,
        key == null
            ? null
            : new IdempotencyKeys.Key(IngestLogs.DEFAULT_TENANT, key, digest(entrance, body)));
  }

  private static UUID digest(String entrance, byte[] body) {
    try {
      var sha = MessageDigest.getInstance("SHA-256");
      sha.update(entrance.getBytes(UTF_8));
      sha.update((byte) 0);
      var digest = ByteBuffer.wrap(sha.digest(body));
      return new UUID(digest.getLong(), digest.getLong());
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e); // every Java has it
    }
  }
}
