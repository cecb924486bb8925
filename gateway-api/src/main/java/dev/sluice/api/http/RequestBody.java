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
final class RequestBody {
  private static final int FIRST_GUESS = 16 * 1024;
  private static final int BELIEVED = 1 << 20;

  /** Above this, judging a body would keep its event loop's other connections waiting. */
  private static final int LONG_WORK = 1 << 20;

  /** The same for a compressed one, which may be a thousand times larger than it looks. */
  private static final int LONG_UNPACKING = LONG_WORK / 256;

  /** Zstandard knows no such bound: a few kilobytes may be all that a request may have. */
  private static final int LONG_ZSTD = 256;

  private final Limits limits;
  private final TimeoutScheduler deadlines;
  private final Duration within;

  /**
   * @param within how long a whole body may take to come
   */
  RequestBody(Limits limits, TimeoutScheduler deadlines, Duration within) {
    this.limits = limits;
    this.deadlines = deadlines;
    this.within = within;
  }

  /**
   * The decompressed body; empty when the client sent none.
   *
   * @param packed whether what is in it is to be unpacked once more
   */
  Mono<byte[]> read(ServerRequest request, Reservation reservation, boolean packed) {
    var encoding = ContentEncoding.of(request.headers().header(HttpHeaders.CONTENT_ENCODING));
    int limit = limits.maxRequestBytes();
    long announced = request.headers().contentLength().orElse(-1);
    if (announced > limit) {
      throw tooLarge(limit);
    }
    var collected = new Collected(reservation, (int) announced, limit);
    return request
        .exchange()
        .getRequest()
        .getBody()
        .doOnSubscribe(_ -> EarlyAnswer.bodyRead(request, false))
        .doOnNext(collected::add)
        .doOnComplete(() -> EarlyAnswer.bodyRead(request, true))
        .then(Mono.fromSupplier(collected::bytes))
        .timeout(tooLong(), Mono.error(() -> RequestRefused.tooSlow(within)))
        .flatMap(body -> offLoop(body, encoding, packed))
        .map(body -> encoding.decode(body, limit, reservation));
  }

  /**
   * Ends when the time is over, unless nobody waits for that any more. Then the wait is completed
   * and not cancelled, which would take down a stack trace for every request.
   */
  private Mono<Void> tooLong() {
    return Mono.create(
        sink -> {
          var wait = deadlines.orTimeout(within, new CompletableFuture<Void>());
          var _ =
              wait.exceptionally(
                  _ -> {
                    sink.success();
                    return null;
                  });
          sink.onDispose(() -> wait.complete(null));
        });
  }

  private static Mono<byte[]> offLoop(byte[] body, ContentEncoding encoding, boolean packed) {
    int most =
        switch (encoding) {
          case IDENTITY -> packed ? LONG_ZSTD : LONG_WORK;
          case ZSTD -> LONG_ZSTD;
          default -> LONG_UNPACKING;
        };
    return body.length > most ? Mono.just(body).publishOn(Schedulers.parallel()) : Mono.just(body);
  }

  static RequestRefused tooLarge(int limit) {
    return RequestRefused.tooLarge("body is larger than the limit of " + limit + " bytes");
  }

  /** Copies what arrives into one array and lets the network's buffers go at once. */
  private static final class Collected {
    private final Reservation reservation;
    private final int announced;
    private final int limit;
    private byte @Nullable [] bytes;
    private int size;

    Collected(Reservation reservation, int announced, int limit) {
      this.reservation = reservation;
      this.announced = announced;
      this.limit = limit;
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
      int needed = size + count;
      if (bytes == null || capacity < needed) {
        int grown = (int) Math.min(Math.max(needed, wanted(capacity)), limit);
        reservation.add(grown - capacity);
        bytes = bytes == null ? new byte[grown] : Arrays.copyOf(bytes, grown);
      }
      return bytes;
    }

    /** An announced length is believed as far as it is short: the bytes may never come. */
    private long wanted(int capacity) {
      long doubled = Math.max(FIRST_GUESS, capacity * 2L);
      return announced < 0 ? doubled : Math.min(announced, capacity == 0 ? BELIEVED : doubled);
    }

    byte[] bytes() {
      if (bytes == null) {
        return new byte[0];
      }
      return bytes.length == size ? bytes : Arrays.copyOf(bytes, size);
    }
  }
}
