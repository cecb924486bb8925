package dev.sluice.api.http;

import dev.sluice.core.domain.Limits;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DataBufferUtils;
import org.springframework.http.HttpHeaders;
import org.springframework.web.reactive.function.server.ServerRequest;
import reactor.core.publisher.Mono;

/**
 * Reads a request's body into one array, and no further than the limits allow: the size is checked
 * as the bytes arrive and again as they are decompressed, so that neither a body without a length
 * nor a small one that unfolds to gigabytes costs more than the limit.
 */
final class RequestBody {
  private static final int FIRST_GUESS = 16 * 1024;

  private final Limits limits;

  RequestBody(Limits limits) {
    this.limits = limits;
  }

  /** The decompressed body; empty when the client sent none. */
  Mono<byte[]> read(ServerRequest request, Reservation reservation) {
    var encoding = ContentEncoding.of(request.headers().firstHeader(HttpHeaders.CONTENT_ENCODING));
    long announced = request.headers().contentLength().orElse(-1);
    var collected = new Collected(reservation, announced, limits.maxRequestBytes());
    return request
        .exchange()
        .getRequest()
        .getBody()
        .doOnNext(collected::add)
        .then(Mono.fromSupplier(collected::bytes))
        .map(bytes -> encoding.decode(bytes, limits.maxRequestBytes(), reservation));
  }

  static RequestRefused tooLarge(int limit) {
    return RequestRefused.tooLarge("body is larger than the limit of " + limit + " bytes");
  }

  /** Copies what arrives into one array and lets the network's buffers go at once. */
  private static final class Collected {
    private final Reservation reservation;
    private final int limit;
    private byte @Nullable [] bytes;
    private int size;

    Collected(Reservation reservation, long announced, int limit) {
      this.reservation = reservation;
      this.limit = limit;
      if (announced > limit) {
        throw tooLarge(limit);
      }
      if (announced > 0) {
        reservation.add(announced);
        bytes = new byte[(int) announced];
      }
    }

    void add(DataBuffer buffer) {
      try {
        int count = buffer.readableByteCount();
        if (count > limit - size) {
          throw tooLarge(limit);
        }
        buffer.read(withRoomFor(count), size, count);
        size += count;
      } finally {
        DataBufferUtils.release(buffer);
      }
    }

    private byte[] withRoomFor(int count) {
      int capacity = bytes == null ? 0 : bytes.length;
      if (bytes == null || capacity - size < count) {
        int wanted = Math.max(size + count, Math.max(FIRST_GUESS, capacity * 2));
        int grown = Math.min(wanted, Math.max(limit, size + count));
        reservation.add(grown - capacity);
        bytes = bytes == null ? new byte[grown] : Arrays.copyOf(bytes, grown);
      }
      return bytes;
    }

    byte[] bytes() {
      if (bytes == null) {
        return new byte[0];
      }
      return bytes.length == size ? bytes : Arrays.copyOf(bytes, size);
    }
  }
}
