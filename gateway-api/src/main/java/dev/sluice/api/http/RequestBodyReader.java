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
 * Reads a request body into one array, up to the limit. It checks the size as the bytes arrive and
 * again during decompression, so that neither a body without a length nor a decompression bomb
 * takes more memory than the limit.
 */
final class RequestBodyReader {
  private static final int INITIAL_CAPACITY = 16 * 1024;
  private static final int MAX_PREALLOCATED_BYTES = 1 << 20;

  /** Larger bodies are validated off the event loop, so that other connections do not wait. */
  private static final int MAX_EVENT_LOOP_BYTES = 1 << 20;

  /** The same limit for a compressed body, which may expand a thousand times. */
  private static final int MAX_EVENT_LOOP_COMPRESSED_BYTES = MAX_EVENT_LOOP_BYTES / 256;

  /** The same limit for Zstandard, whose ratio is unbounded: kilobytes can expand to the limit. */
  private static final int MAX_EVENT_LOOP_ZSTD_BYTES = 256;

  private final Limits limits;
  private final TimeoutScheduler timeoutScheduler;
  private final Duration timeout;

  /**
   * @param timeout maximum time from the start to the end of a body
   */
  RequestBodyReader(Limits limits, TimeoutScheduler timeoutScheduler, Duration timeout) {
    this.limits = limits;
    this.timeoutScheduler = timeoutScheduler;
    this.timeout = timeout;
  }

  /**
   * Reads and decompresses a body; empty when the client sends none.
   *
   * @param compressed whether the decoder decompresses the content again
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
   * Returns a signal that completes at the timeout. When the body is complete earlier, the timer is
   * completed and not cancelled: a cancellation creates an exception with a stack trace.
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

  /** A buffer that copies the body into one array and releases network buffers immediately. */
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

    /** Returns a capacity; it preallocates a limited part of Content-Length, which may be false. */
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
