package dev.sluice.api.http;

import dev.sluice.api.decode.Json;
import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.LogReader;
import dev.sluice.query.port.LogReader.LogPage;
import dev.sluice.query.port.LogReader.Position;
import dev.sluice.query.port.LogReader.Query;
import dev.sluice.query.read.ConcurrencyLimitedReader;
import dev.sluice.query.read.QueryClient;
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
 * An export of a query result of any size as NDJSON. It reads the next page when the client has
 * received the previous one. So a slow client keeps no query open in the store and takes the memory
 * of one page; it can delay only other exports.
 */
final class NdjsonExport {
  private static final int INITIAL_PAGE_SIZE = 500;
  private static final int MAX_PAGE_SIZE = 5000;
  private static final int CHUNK_BYTES = 64 * 1024;
  private static final Duration BUSY_RETRY_AFTER = Duration.ofSeconds(5);

  /** Attempts to read a page of a started export while too many queries run. */
  private static final int MAX_ATTEMPTS = 60;

  private final LogReader reader;
  private final BlockingQueries queries;
  private final Semaphore permits = new Semaphore(8);

  NdjsonExport(LogReader reader, BlockingQueries queries) {
    this.reader = reader;
    this.queries = queries;
  }

  /** Emits the lines after the first page is read, so that an early error is an error response. */
  Mono<Flux<DataBuffer>> lines(LogFilter filter, int limit, @Nullable Position after) {
    return Mono.defer(
        () -> {
          if (!permits.tryAcquire()) {
            return Mono.error(HttpProblemException.storeUnavailable(BUSY_RETRY_AFTER));
          }
          var export = new ExportState(filter, limit, after);
          return queries
              .submit(
                  () -> {
                    export.readPage();
                    return stream(export);
                  })
              .doOnError(_ -> export.close())
              .doOnCancel(export::close);
        });
  }

  private Flux<DataBuffer> stream(ExportState export) {
    var client = QueryClient.current(); // the body is written outside of the request's context
    return Flux.<DataBuffer>generate(sink -> QueryClient.run(client, () -> export.emitNext(sink)))
        .subscribeOn(queries.scheduler())
        .doFinally(_ -> export.close());
  }

  /** The progress of one export. One thread uses it at a time, except for {@link #close}. */
  private final class ExportState {
    private final AtomicBoolean closed = new AtomicBoolean();
    private final LogFilter filter;
    private final ArrayDeque<byte[]> chunks = new ArrayDeque<>();
    private int remaining;
    private int lastPageSize;
    private @Nullable Position after;
    private boolean exhausted;

    ExportState(LogFilter filter, int limit, @Nullable Position after) {
      this.filter = filter;
      this.remaining = limit;
      this.after = after;
    }

    /** Releases the permit, at the first of several calls. */
    void close() {
      if (closed.compareAndSet(false, true)) {
        permits.release();
      }
    }

    void emitNext(SynchronousSink<DataBuffer> sink) {
      try {
        while (chunks.isEmpty() && !exhausted) {
          readPage();
        }
      } catch (InterruptedException | RuntimeException e) {
        // too late for an error status: the connection is aborted
        sink.error(BlockingQueries.toHttpProblem(e));
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
      var page = readWithRetry(new Query(filter, Math.min(nextPageSize(), remaining), after));
      lastPageSize = page.logs().size();
      remaining -= page.logs().size();
      after = page.next();
      exhausted = after == null || remaining == 0;
      appendLines(page);
    }

    /** Returns the size of the next page, which adapts to pages that the reader cut by bytes. */
    private int nextPageSize() {
      return lastPageSize == 0 ? INITIAL_PAGE_SIZE : Math.min(MAX_PAGE_SIZE, 2 * lastPageSize);
    }

    private LogPage readWithRetry(Query query) throws InterruptedException {
      for (int i = 1; ; i++) {
        try {
          return reader.read(query);
        } catch (ConcurrencyLimitedReader.TooManyQueriesException e) {
          if (after == null || i == MAX_ATTEMPTS) {
            throw e;
          }
        }
      }
    }

    private void appendLines(LogPage page) {
      var lines = new ByteArrayOutputStream(CHUNK_BYTES + 4096);
      for (var log : page.logs()) {
        lines.writeBytes(Json.write(json -> LogJson.write(log, json)));
        lines.write('\n');
        if (lines.size() >= CHUNK_BYTES) {
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
