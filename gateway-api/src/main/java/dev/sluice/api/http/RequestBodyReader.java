package dev.sluice.api.http;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.port.TimeoutScheduler;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DataBufferUtils;
import org.springframework.http.HttpHeaders;
import org.springframework.web.reactive.function.server.ServerRequest;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/**
 * Reads a request's body into one array, and no further than the limits allow: the size is checked
 * as the bytes arrive and again as they are decompressed, so that neither a body without a length
 * nor a small one that unfolds to gigabytes costs more than the limit.
 */
final class RequestBodyReader {
  private static final int INITIAL_CAPACITY = 16 * 1024;
  private static final int MAX_PREALLOCATED_BYTES = 1 << 20;

  /** Above this, judging a body would keep its event loop's other connections waiting. */
  private static final int MAX_EVENT_LOOP_BYTES = 1 << 20;

  /** The same for a compressed one, which may be a thousand times larger than it looks. */
  private static final int MAX_EVENT_LOOP_COMPRESSED_BYTES = MAX_EVENT_LOOP_BYTES / 256;

  /** Zstandard knows no such bound: a few kilobytes may be all that a request may have. */
  private static final int MAX_EVENT_LOOP_ZSTD_BYTES = 256;

  private final Limits limits;
  private final TimeoutScheduler timeoutScheduler;
  private final Duration timeout;

  /**
   * @param timeout how long a whole body may take to come
   */
  RequestBodyReader(Limits limits, TimeoutScheduler timeoutScheduler, Duration timeout) {
    this.limits = limits;
    this.timeoutScheduler = timeoutScheduler;
    this.timeout = timeout;
  }

  /**
   * The decompressed body; empty when the client sent none.
   *
   * @param compressed whether what is in it is to be unpacked once more
   */
  Mono<byte[]> read(ServerRequest request, MemoryReservation reservation, boolean compressed) {
    var encoding = ContentEncoding.of(request.headers().header(HttpHeaders.CONTENT_ENCODING));
    int limit = limits.maxRequestBytes();
    long contentLength = request.headers().contentLength().orElse(-1);
    if (contentLength > limit) {
      throw tooLarge(limit);
    }
    var buffer = new BodyBuffer(reservation, (int) contentLength, limit);
    return request
        .exchange()
        .getRequest()
        .getBody()
        .doOnSubscribe(_ -> LingeringClose.markBodyRead(request, false))
        .doOnNext(buffer::add)
        .doOnComplete(() -> LingeringClose.markBodyRead(request, true))
        .then(Mono.fromSupplier(buffer::bytes))
        .timeout(timeoutSignal(), Mono.error(() -> HttpProblemException.requestTimeout(timeout)))
        .flatMap(body -> moveOffEventLoop(body, encoding, compressed))
        .map(body -> encoding.decode(body, limit, reservation));
  }

  /**
   * Ends when the time is over, unless nobody waits for that any more. Then the wait is completed
   * and not cancelled, which would take down a stack trace for every request.
   */
  private Mono<Void> timeoutSignal() {
    return Mono.create(
        sink -> {
          var deadline = timeoutScheduler.orTimeout(timeout, new CompletableFuture<Void>());
          var _ =
              deadline.exceptionally(
                  _ -> {
                    sink.success();
                    return null;
                  });
          sink.onDispose(() -> deadline.complete(null));
        });
  }

  private static Mono<byte[]> moveOffEventLoop(
      byte[] body, ContentEncoding encoding, boolean compressed) {
    int threshold =
        switch (encoding) {
          case IDENTITY -> compressed ? MAX_EVENT_LOOP_ZSTD_BYTES : MAX_EVENT_LOOP_BYTES;
          case ZSTD -> MAX_EVENT_LOOP_ZSTD_BYTES;
          default -> MAX_EVENT_LOOP_COMPRESSED_BYTES;
        };
    return body.length > threshold
        ? Mono.just(body).publishOn(Schedulers.parallel())
        : Mono.just(body);
  }

  static HttpProblemException tooLarge(int limit) {
    return HttpProblemException.tooLarge("body is larger than the limit of " + limit + " bytes");
  }

  /** Copies what arrives into one array and lets the network's buffers go at once. */
  private static final class BodyBuffer {
    private final MemoryReservation reservation;
    private final int contentLength;
    private final int limit;
    private byte @Nullable [] bytes;
    private int size;

    BodyBuffer(MemoryReservation reservation, int contentLength, int limit) {
      this.reservation = reservation;
      this.contentLength = contentLength;
      this.limit = limit;
    }

    void add(DataBuffer buffer) {
      try {
        int count = buffer.readableByteCount();
        if (count > limit - size) {
          throw tooLarge(limit);
        }
        buffer.read(ensureCapacity(count), size, count);
        size += count;
      } finally {
        DataBufferUtils.release(buffer);
      }
    }

    private byte[] ensureCapacity(int count) {
      int capacity = bytes == null ? 0 : bytes.length;
      int needed = size + count;
      if (bytes == null || capacity < needed) {
        int newCapacity = (int) Math.min(Math.max(needed, proposedCapacity(capacity)), limit);
        reservation.add(newCapacity - capacity);
        bytes = bytes == null ? new byte[newCapacity] : Arrays.copyOf(bytes, newCapacity);
      }
      return bytes;
    }

    /** An announced length is believed as far as it is short: the bytes may never come. */
    private long proposedCapacity(int capacity) {
      long doubled = Math.max(INITIAL_CAPACITY, capacity * 2L);
      return contentLength < 0
          ? doubled
          : Math.min(contentLength, capacity == 0 ? MAX_PREALLOCATED_BYTES : doubled);
    }

    byte[] bytes() {
      if (bytes == null) {
        return new byte[0];
      }
      return bytes.length == size ? bytes : Arrays.copyOf(bytes, size);
    }
  }
}
