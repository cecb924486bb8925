package dev.sluice.api.http;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.api.decode.ShippedFrames;
import dev.sluice.api.http.Intake.Form;
import dev.sluice.api.http.Intake.Reading;
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
 * {@code POST /v1/ingest/wal-frames}: frames of a write-ahead log as its shipper sends them, a
 * manifest and the frames themselves. A shipper that was cut off sends them again, so a request is
 * taken once by its manifest and its sender when it names no key itself.
 */
final class WalFramesHandler {
  private static final String ENTRANCE = "wal-frames";
  private static final String SERVICE = "service.name";

  private final Intake intake;
  private final Limits limits;

  WalFramesHandler(Intake intake, Limits limits) {
    this.intake = intake;
    this.limits = limits;
  }

  Mono<ServerResponse> post(ServerRequest request) {
    return NativeLogsHandler.take(intake, request, this::form);
  }

  private Form form(ServerRequest request) {
    if (!RequestHeaders.contentType(request).equals("multipart/form-data")) {
      throw RequestRefused.unsupported("content type is not multipart/form-data");
    }
    var boundary =
        MediaType.parseMediaType(String.valueOf(request.headers().firstHeader("Content-Type")))
            .getParameter("boundary");
    if (boundary == null) {
      throw RequestRefused.malformed("multipart: content type has no boundary");
    }
    var mark = unquoted(boundary);
    var sender = sender(request);
    return new Form(ENTRANCE, body -> new Shipment(Multipart.of(body, mark), sender, limits), true);
  }

  private record Shipment(Multipart parts, SortedMap<String, String> sender, Limits limits)
      implements Reading {
    @Override
    public RequestContext request(IngestOptions asked) {
      return once(asked, parts, sender);
    }

    @Override
    public OtlpPayload decode(Reservation reservation) {
      return ShippedFrames.read(
          parts.part("manifest"), parts.part("frames"), sender, limits, reservation::add);
    }
  }

  private static String unquoted(String value) {
    return value.length() > 1 && value.startsWith("\"") && value.endsWith("\"")
        ? value.substring(1, value.length() - 1)
        : value;
  }

  /** Resource attributes, by headers whose names begin as the sender's house likes. */
  private static SortedMap<String, String> sender(ServerRequest request) {
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
    sender.put(SERVICE, service.isEmpty() ? "memlogger" : service);
    return sender;
  }

  /** The boundary is another each time, so it is the parts that tell whether it is the same. */
  private static RequestContext once(
      IngestOptions asked, Multipart parts, SortedMap<String, String> sender) {
    var digest = sha256();
    sender.forEach(
        (key, value) -> {
          if (!key.equals(SERVICE)) {
            digest.update((key + '=' + value + '\n').getBytes(UTF_8));
          }
        });
    digest.update(parts.part("manifest"));
    var manifest = digest.digest();
    var key =
        asked.key() == null ? "wal-frames-" + HexFormat.of().formatHex(manifest) : asked.key();
    // what is only in memory could be lost after its key was promised to hold
    var level = asked.level() == AckLevel.ACCEPTED ? AckLevel.DURABLE : asked.level();
    digest.update(manifest);
    digest.update(String.valueOf(sender.get(SERVICE)).getBytes(UTF_8));
    digest.update((byte) 0);
    ByteBuffer frames = parts.part("frames");
    digest.update(frames);
    return new IngestOptions(level, key).toRequest(ENTRANCE, digest.digest());
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e); // every Java has it
    }
  }
}
