package dev.sluice.tools;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import tools.jackson.databind.JsonNode;

/**
 * Sends logs in requests of several lines, and reports the lines that the gateway rejects. Not
 * thread-safe.
 */
final class BatchSender {
  private static final int REQUEST_LINES = 500;

  /** The request size in bytes from which a request gets no more lines. */
  private static final int REQUEST_BYTES = 8 << 20;

  private static final int MAX_REPORTED_REJECTIONS = 20;

  private final String id = UUID.randomUUID().toString();
  private final GatewayClient gateway;
  private final PrintStream err;
  private final ByteArrayOutputStream request = new ByteArrayOutputStream();
  private final List<String> positions = new ArrayList<>();
  private int requests;
  private int reportedRejections;
  private long sent;
  private long accepted;

  BatchSender(GatewayClient gateway, PrintStream err) {
    this.gateway = gateway;
    this.err = err;
  }

  /** Returns the number of logs in all requests. */
  long sent() {
    return sent;
  }

  /** Returns the number of logs that the gateway accepted. */
  long accepted() {
    return accepted;
  }

  /**
   * Adds a log to the request, and sends the request when it is full.
   *
   * @param source the name of the file of the log
   * @param line its line number there
   * @param json the log in native JSON, without a line break
   */
  void add(String source, int line, byte[] json) throws IOException, InterruptedException {
    request.writeBytes(json);
    request.write('\n');
    positions.add(source + ":" + line);
    if (positions.size() == REQUEST_LINES || request.size() >= REQUEST_BYTES) {
      flush();
    }
  }

  /** Sends the logs added since the last request; returns when the gateway has responded. */
  void flush() throws IOException, InterruptedException {
    if (positions.isEmpty()) {
      return;
    }
    var response = gateway.post(request.toByteArray(), id + "-" + requests++);
    sent += positions.size();
    accepted += response.path("accepted").asInt(0);
    int filtered = response.path("filtered").asInt(0);
    if (filtered > 0) {
      err.printf("%d lines are not on the allowlist of the gateway%n", filtered);
    }
    response.path("rejected").forEach(this::reportRejection);
    request.reset();
    positions.clear();
  }

  private void reportRejection(JsonNode rejected) {
    if (reportedRejections++ < MAX_REPORTED_REJECTIONS) {
      err.printf(
          "%s: rejected: %s %s%n",
          positions.get(rejected.path("index").asInt()),
          rejected.path("field").asString(),
          rejected.path("reason").asString());
    }
  }
}
