package dev.sluice.api.http;

import dev.sluice.core.ingest.PayloadDecoder;
import java.util.List;
import java.util.function.Function;
import org.springframework.web.reactive.function.server.ServerRequest;

/**
 * A {@code POST} of logs to a path, in one format. Several routes, also of several protocols, may
 * share a path; the content type of the request decides.
 *
 * @param path the path
 * @param mediaTypes the content types in lower case, at least one; error messages list the first
 * @param protocol the value of the metric tag {@code protocol}, which is also part of the digest of
 *     idempotent requests, so it never changes
 * @param decoderFactory returns the decoder of a request, whose headers it may read; throws {@link
 *     HttpProblemException} when they are invalid
 * @param responses the format of the responses
 */
public record IngestRoute(
    String path,
    List<String> mediaTypes,
    String protocol,
    Function<ServerRequest, PayloadDecoder> decoderFactory,
    IngestResponseWriter responses) {

  public IngestRoute {
    mediaTypes = List.copyOf(mediaTypes);
  }

  /** Creates a route whose decoder does not depend on the headers. */
  public IngestRoute(
      String path,
      List<String> mediaTypes,
      String protocol,
      PayloadDecoder decoder,
      IngestResponseWriter responses) {
    this(path, mediaTypes, protocol, _ -> decoder, responses);
  }
}
