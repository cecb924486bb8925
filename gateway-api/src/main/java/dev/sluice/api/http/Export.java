package dev.sluice.api.http;

import dev.sluice.api.decode.Json;
import dev.sluice.core.port.LogReader;
import dev.sluice.core.port.LogReader.LogPage;
import dev.sluice.core.port.LogReader.Position;
import dev.sluice.core.port.LogReader.Query;
import dev.sluice.core.query.LogFilter;
import dev.sluice.core.read.ConcurrencyLimitedReader;
import java.io.ByteArrayOutputStream;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DefaultDataBufferFactory;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.SynchronousSink;

/**
 * A result of any size, one log a line. It is read page by page, the next when the client has taken
 * the one before: so a slow client keeps no query open in the store, costs a page of memory, and
 * delays nobody but those who export, too.
 */
final class Export {
  private static final int FIRST_PAGE = 500;
  private static final int MOST = 5000;
  private static final int CHUNK = 64 * 1024;
  private static final Duration BUSY = Duration.ofSeconds(5);

  /** An export that has begun is not given up because of others for so many tries. */
  private static final int TRIES = 60;

  private final LogReader reader;
  private final Reads reads;
  private final Semaphore atOnce = new Semaphore(8);

  Export(LogReader reader, Reads reads) {
    this.reader = reader;
    this.reads = reads;
  }

  /** The first page is there when it emits, so that what cannot be read is an answer of its own. */
  Mono<Flux<DataBuffer>> lines(LogFilter filter, int limit, @Nullable Position after) {
    return Mono.defer(
        () -> {
          if (!atOnce.tryAcquire()) {
            return Mono.error(RequestRefused.unreadable(BUSY));
          }
          var result = new Result(filter, limit, after);
          return reads
              .ask(
                  () -> {
                    result.readPage();
                    return stream(result);
                  })
              .doOnError(_ -> result.close())
              .doOnCancel(result::close);
        });
  }

  private Flux<DataBuffer> stream(Result result) {
    return Flux.<DataBuffer>generate(result::next)
        .subscribeOn(reads.scheduler())
        .doFinally(_ -> result.close());
  }

  /** How far one export is; used by one thread at a time, but for its end. */
  private final class Result {
    private final AtomicBoolean closed = new AtomicBoolean();
    private final LogFilter filter;
    private final ArrayDeque<byte[]> chunks = new ArrayDeque<>();
    private int left;
    private int last;
    private @Nullable Position after;
    private boolean ended;

    Result(LogFilter filter, int limit, @Nullable Position after) {
      this.filter = filter;
      this.left = limit;
      this.after = after;
    }

    /** By whichever of its ends comes first. */
    void close() {
      if (closed.compareAndSet(false, true)) {
        atOnce.release();
      }
    }

    void next(SynchronousSink<DataBuffer> sink) {
      try {
        while (chunks.isEmpty() && !ended) {
          readPage();
        }
      } catch (InterruptedException | RuntimeException e) {
        sink.error(Reads.refusal(e)); // too late for a status: the connection breaks off
        return;
      }
      var chunk = chunks.poll();
      if (chunk == null) {
        sink.complete();
      } else {
        sink.next(DefaultDataBufferFactory.sharedInstance.wrap(chunk));
      }
    }

    private void readPage() throws InterruptedException {
      var page = readPatiently(new Query(filter, Math.min(page(), left), after));
      last = page.logs().size();
      left -= page.logs().size();
      after = page.next();
      ended = after == null || left == 0;
      write(page);
    }

    /** A page that was cut for the size of its logs tells how many the next may hold. */
    private int page() {
      return last == 0 ? FIRST_PAGE : Math.min(MOST, 2 * last);
    }

    private LogPage readPatiently(Query query) throws InterruptedException {
      for (int i = 1; ; i++) {
        try {
          return reader.read(query);
        } catch (ConcurrencyLimitedReader.TooManyQueriesException e) {
          if (after == null || i == TRIES) {
            throw e;
          }
        }
      }
    }

    private void write(LogPage page) {
      var lines = new ByteArrayOutputStream(CHUNK + 4096);
      for (var log : page.logs()) {
        lines.writeBytes(Json.write(json -> LogJson.write(log, json)));
        lines.write('\n');
        if (lines.size() >= CHUNK) {
          chunks.add(lines.toByteArray());
          lines.reset();
        }
      }
      if (lines.size() > 0) {
        chunks.add(lines.toByteArray());
      }
    }
  }
}
