package dev.sluice.api.protocol.frames;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.MemoryReservation;
import dev.sluice.core.ingest.OtlpPayload;
import dev.sluice.core.ingest.PayloadDecoder;
import dev.sluice.core.ingest.RequestContext;
import dev.sluice.core.port.IdempotencyStore.IdempotencyKey;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.SortedMap;
import org.jspecify.annotations.Nullable;

/**
 * The decoder of one upload of frames with their manifest. A shipper retries after a lost response.
 * So a request without an idempotency key gets one, which is derived from the manifest and the
 * sender. For one request and one thread.
 */
final class FrameUpload implements PayloadDecoder {
  static final String SERVICE_NAME = "service.name";

  private final String boundary;
  private final SortedMap<String, String> sender;
  private @Nullable Multipart multipart;

  /**
   * @param boundary the multipart boundary
   * @param sender the resource attributes of the sender
   */
  FrameUpload(String boundary, SortedMap<String, String> sender) {
    this.boundary = boundary;
    this.sender = sender;
  }

  private Multipart parts(byte[] body) {
    var parsed = multipart;
    if (parsed == null) {
      parsed = Multipart.parse(body, boundary);
      multipart = parsed;
    }
    return parsed;
  }

  @Override
  public OtlpPayload decode(byte[] body, Limits limits, MemoryReservation memory) {
    var parts = parts(body);
    return ShippedFrames.read(
        parts.part("manifest"), parts.part("frames"), sender, limits, memory::add);
  }

  /** Identifies a request by its parts, because the multipart boundary differs in each retry. */
  @Override
  public IdempotencyKey idempotencyKey(RequestContext context, byte[] body) {
    var parts = parts(body);
    var digest = sha256();
    sender.forEach(
        (key, value) -> {
          if (!key.equals(SERVICE_NAME)) {
            digest.update((key + '=' + value + '\n').getBytes(UTF_8));
          }
        });
    digest.update(parts.part("manifest"));
    var manifest = digest.digest();
    var requestKey = context.idempotencyKey();
    var key = requestKey == null ? "wal-frames-" + HexFormat.of().formatHex(manifest) : requestKey;
    digest.update(manifest);
    digest.update(String.valueOf(sender.get(SERVICE_NAME)).getBytes(UTF_8));
    digest.update((byte) 0);
    digest.update(parts.part("frames"));
    return context.toIdempotencyKey(key, digest.digest());
  }

  @Override
  public boolean decompresses() {
    return true;
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e); // unreachable: every Java platform has SHA-256
    }
  }
}
