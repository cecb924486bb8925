package dev.sluice.core.ingest;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.port.IdempotencyStore.IdempotencyKey;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The context of one request, of ingest or of a query. Only the HTTP filter and the gRPC
 * interceptor create it, from the headers of the request; every later step receives it.
 *
 * @param tenant the tenant whose logs the request writes or reads
 * @param principal the identity of the client; null for an anonymous client
 * @param ackLevel the acknowledgement level; with a key at least {@link AckLevel#DURABLE}; without
 *     meaning for a query
 * @param idempotencyKey the idempotency key; null when the request has none
 * @param protocol the name of the protocol, for the metrics and the digest of the request
 */
public record RequestContext(
    String tenant,
    @Nullable String principal,
    AckLevel ackLevel,
    @Nullable String idempotencyKey,
    String protocol) {

  /** The name of the header with the acknowledgement level, in lower case as gRPC requires. */
  public static final String ACK_HEADER = "sluice-ack";

  public static final String IDEMPOTENCY_KEY_HEADER = "idempotency-key";
  public static final String IDEMPOTENCY_REPLAYED_HEADER = "idempotency-replayed";

  private static final int MAX_KEY_LENGTH = 255;

  // not a compact constructor: javac does not export the nullness of its parameters
  public RequestContext(
      String tenant,
      @Nullable String principal,
      AckLevel ackLevel,
      @Nullable String idempotencyKey,
      String protocol) {
    if (idempotencyKey != null && ackLevel == AckLevel.ACCEPTED) {
      throw new IllegalArgumentException(
          "a request with an idempotency key needs level durable or stored, has accepted");
    }
    this.tenant = tenant;
    this.principal = principal;
    this.ackLevel = ackLevel;
    this.idempotencyKey = idempotencyKey;
    this.protocol = protocol;
  }

  /** Creates the context of a query, or of an ingest request without options. */
  public static RequestContext of(String tenant, @Nullable String principal, String protocol) {
    return new RequestContext(tenant, principal, AckLevel.DURABLE, null, protocol);
  }

  /**
   * Creates the context of an ingest request from its headers. A request with a key has at least
   * the level {@link AckLevel#DURABLE}.
   *
   * @param ack the value of {@link #ACK_HEADER}; null when there is none
   * @param key the value of {@link #IDEMPOTENCY_KEY_HEADER}; null when there is none
   * @throws IllegalArgumentException when a value is invalid, with a message for the client
   */
  public static RequestContext of(
      String tenant,
      @Nullable String principal,
      String protocol,
      @Nullable String ack,
      @Nullable String key) {
    var level = parseLevel(ack);
    if (key != null && !isValid(key)) {
      throw new IllegalArgumentException(
          IDEMPOTENCY_KEY_HEADER + " is not 1 to " + MAX_KEY_LENGTH + " visible ASCII characters");
    }
    return new RequestContext(
        tenant, principal, key == null ? level : atLeastDurable(level), key, protocol);
  }

  private static AckLevel parseLevel(@Nullable String ack) {
    return switch (ack) {
      case null -> AckLevel.DURABLE;
      case "accepted" -> AckLevel.ACCEPTED;
      case "durable" -> AckLevel.DURABLE;
      case "stored" -> AckLevel.STORED;
      default ->
          throw new IllegalArgumentException(
              ACK_HEADER + " is not one of accepted, durable, stored");
    };
  }

  private static boolean isValid(String key) {
    return !key.isEmpty()
        && key.length() <= MAX_KEY_LENGTH
        && key.chars().allMatch(character -> character > ' ' && character <= '~');
  }

  /** At level accepted, logs in memory could be lost although their key counts as used. */
  private static AckLevel atLeastDurable(AckLevel level) {
    return level == AckLevel.ACCEPTED ? AckLevel.DURABLE : level;
  }

  /** Returns this context for a request to which the gateway itself gives an idempotency key. */
  RequestContext withDurableAck() {
    return new RequestContext(
        tenant, principal, atLeastDurable(ackLevel), idempotencyKey, protocol);
  }

  /**
   * Returns an idempotency key of this tenant and protocol.
   *
   * @param key the key
   * @param content the bytes that identify the request, such as its decompressed body
   */
  public IdempotencyKey toIdempotencyKey(String key, byte[] content) {
    try {
      var sha = MessageDigest.getInstance("SHA-256");
      sha.update(protocol.getBytes(UTF_8));
      sha.update((byte) 0);
      var digest = ByteBuffer.wrap(sha.digest(content));
      return new IdempotencyKey(tenant, key, new UUID(digest.getLong(), digest.getLong()));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }
}
