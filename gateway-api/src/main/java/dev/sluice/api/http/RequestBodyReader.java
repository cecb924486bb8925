package dev.sluice.api.http;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.MemoryReservation;
import dev.sluice.core.port.TimeoutScheduler;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DataBufferUtils;
import org.springframework.web.reactive.function.server.ServerRequest;
import reactor.core.publisher.Mono;

/**
 * Reads a request body into one array, up to the limit. It checks the size as the bytes arrive, so
 * that a body without a length does not take more memory than the limit.
 */
final class RequestBodyReader {
  private static final int INITIAL_CAPACITY = 16 * 1024;
  private static final int MAX_PREALLOCATED_BYTES = 1 << 20;

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

  /** Reads a body, without decompression; emits an empty array when the client sends none. */
  Mono<byte[]> read(ServerRequest request, MemoryReservation reservation) {
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
        .timeout(timeoutSignal(), Mono.error(() -> HttpProblemException.requestTimeout(timeout)));
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

  static HttpProblemException tooLarge(int limit) {
    return HttpProblemException.tooLarge(tooLargeMessage(limit));
  }

  static String tooLargeMessage(int limit) {
    return "body is larger than the limit of " + limit + " bytes";
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
