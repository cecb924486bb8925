package dev.sluice.api.http;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.api.decode.ShippedFrames;
import dev.sluice.api.http.HttpIngestPipeline.PayloadFormat;
import dev.sluice.api.http.HttpIngestPipeline.PayloadReader;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.AckLevel;
import dev.sluice.core.ingest.IngestOptions;
import dev.sluice.core.ingest.IngestService.RequestContext;
import dev.sluice.core.ingest.OtlpPayload;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Locale;
import java.util.SortedMap;
import java.util.TreeMap;
import org.springframework.http.MediaType;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Mono;

/**
 * The handler of {@code POST /v1/ingest/wal-frames}: frames of a write-ahead log that a log shipper
 * sends, with a manifest. A shipper retries after a lost response. So a request without an
 * idempotency key gets one, which is derived from the manifest and the sender.
 */
final class WalFramesHandler {
  private static final String PROTOCOL = "wal-frames";
  private static final String SERVICE_NAME = "service.name";

  private final HttpIngestPipeline pipeline;
  private final Limits limits;

  WalFramesHandler(HttpIngestPipeline pipeline, Limits limits) {
    this.pipeline = pipeline;
    this.limits = limits;
  }

  Mono<ServerResponse> post(ServerRequest request) {
    return NativeLogsHandler.ingest(pipeline, request, this::payloadFormat);
  }

  private PayloadFormat payloadFormat(ServerRequest request) {
    if (!RequestHeaders.contentType(request).equals("multipart/form-data")) {
      throw HttpProblemException.unsupported("content type is not multipart/form-data");
    }
    var boundary =
        MediaType.parseMediaType(String.valueOf(request.headers().firstHeader("Content-Type")))
            .getParameter("boundary");
    if (boundary == null) {
      throw HttpProblemException.malformed("multipart: content type has no boundary");
    }
    var unquotedBoundary = unquoted(boundary);
    var sender = senderAttributes(request);
    return new PayloadFormat(
        PROTOCOL,
        body -> new FrameUpload(Multipart.parse(body, unquotedBoundary), sender, limits),
        true);
  }

  private record FrameUpload(Multipart parts, SortedMap<String, String> sender, Limits limits)
      implements PayloadReader {
    @Override
    public RequestContext request(IngestOptions options) {
      return idempotentRequest(options, parts, sender);
    }

    @Override
    public OtlpPayload decode(MemoryReservation reservation) {
      return ShippedFrames.read(
          parts.part("manifest"), parts.part("frames"), sender, limits, reservation::add);
    }
  }

  private static String unquoted(String value) {
    return value.length() > 1 && value.startsWith("\"") && value.endsWith("\"")
        ? value.substring(1, value.length() - 1)
        : value;
  }

  /** Returns resource attributes from headers, whose names have any prefix. */
  private static SortedMap<String, String> senderAttributes(ServerRequest request) {
    var sender = new TreeMap<String, String>();
    request
        .headers()
        .asHttpHeaders()
        .forEach(
            (name, values) -> {
              var lower = name.toLowerCase(Locale.ROOT);
              if (lower.endsWith("-chain-id")) {
                sender.put("chain.id", values.getFirst());
              } else if (lower.endsWith("-node-id")) {
                sender.put("service.instance.id", values.getFirst());
              }
            });
    var service = request.queryParam("service").orElse("");
    sender.put(SERVICE_NAME, service.isEmpty() ? "memlogger" : service);
    return sender;
  }

  /** Identifies a request by its parts, because the multipart boundary differs in each retry. */
  private static RequestContext idempotentRequest(
      IngestOptions options, Multipart parts, SortedMap<String, String> sender) {
    var digest = sha256();
    sender.forEach(
        (key, value) -> {
          if (!key.equals(SERVICE_NAME)) {
            digest.update((key + '=' + value + '\n').getBytes(UTF_8));
          }
        });
    digest.update(parts.part("manifest"));
    var manifest = digest.digest();
    var key =
        options.key() == null ? "wal-frames-" + HexFormat.of().formatHex(manifest) : options.key();
    // a key must not outlive its logs, and logs of level accepted are only in memory at first
    var level = options.level() == AckLevel.ACCEPTED ? AckLevel.DURABLE : options.level();
    digest.update(manifest);
    digest.update(String.valueOf(sender.get(SERVICE_NAME)).getBytes(UTF_8));
    digest.update((byte) 0);
    ByteBuffer frames = parts.part("frames");
    digest.update(frames);
    return new IngestOptions(level, key).toContext(PROTOCOL, digest.digest());
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e); // unreachable: every Java platform has SHA-256
    }
  }
}
