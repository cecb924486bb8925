package dev.sluice.clickhouse;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.clickhouse.client.api.Client;
import com.clickhouse.client.api.ClientConfigProperties;
import com.clickhouse.client.api.ClientFaultCause;
import com.clickhouse.client.api.DataStreamWriter;
import com.clickhouse.client.api.ServerException;
import com.clickhouse.client.api.insert.InsertSettings;
import com.clickhouse.client.api.query.QuerySettings;
import com.clickhouse.data.ClickHouseFormat;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * The only class that uses the client library of ClickHouse. Each call is one request on the
 * calling thread and ends with success or with {@link ClickHouseException}. Only requests that are
 * no inserts are retried automatically, when a pooled connection is dead.
 *
 * <p>Success means that ClickHouse has finished the request before it sends the first byte: with
 * {@code wait_end_of_query} it buffers the response, so that no error can follow a status of 200.
 *
 * <p>Safe for use by many threads. The constructor needs no ClickHouse.
 */
final class ClickHouseClient implements AutoCloseable {
  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(5);

  /**
   * Time that the client waits longer than the time limit of ClickHouse, to receive its outcome.
   */
  private static final Duration TIMEOUT_MARGIN = Duration.ofSeconds(5);

  /** Timeout of a cancellation, for which the caller still holds a query permit. */
  private static final Duration CANCEL_TIMEOUT = Duration.ofSeconds(2);

  /**
   * Timeout of a kill. A killed insert ends at its next block; after a timeout, the retry of the
   * delivery kills it again.
   */
  private static final Duration KILL_TIMEOUT = Duration.ofSeconds(10);

  /**
   * Maximum number of connections: more than all concurrent queries, inserts, their dictionary
   * writes and probes together, which would wait for each other with the default of 10.
   */
  private static final int MAX_CONNECTIONS = 256;

  /** A block size in rows that no insert reaches. */
  private static final String UNLIMITED_ROWS = String.valueOf(1L << 40);

  private final Client client;
  private final Duration insertTimeout;

  /** Reads the body of a response. */
  interface ResponseReader<T> {
    T read(InputStream in) throws IOException;
  }

  /** Writes the blocks of an insert. An exception ends the insert and is thrown to its caller. */
  interface BlockSource {
    /**
     * @return number of rows in all blocks
     */
    long writeTo(OutputStream out) throws IOException;
  }

  ClickHouseClient(ClickHouseSettings settings) {
    insertTimeout = settings.insertTimeout();
    client =
        new Client.Builder()
            .addEndpoint(settings.url())
            .setUsername(settings.user())
            .setPassword(settings.password())
            .setDefaultDatabase(settings.database())
            .setClientName("sluice")
            // On one host or rack, CPU is scarcer than network bandwidth.
            .compressClientRequest(false)
            .compressServerResponse(false)
            // A pooled connection may be dead after a restart of ClickHouse.
            .setMaxRetries(2)
            .retryOnFailures(ClientFaultCause.NoHttpResponse)
            .setMaxConnections(MAX_CONNECTIONS)
            .setConnectTimeout(CONNECT_TIMEOUT.toMillis(), ChronoUnit.MILLIS)
            .setConnectionRequestTimeout(CONNECT_TIMEOUT.toMillis(), ChronoUnit.MILLIS)
            .setSocketTimeout(insertTimeout.plus(TIMEOUT_MARGIN).toMillis(), ChronoUnit.MILLIS)
            .setExecutionTimeout(0, ChronoUnit.MILLIS)
            // Shorter than that of ClickHouse, so that the client closes idle connections first.
            .setKeepAliveTimeout(3, ChronoUnit.SECONDS)
            .serverSetting("wait_end_of_query", "1")
            .build();
  }

  /** Executes a statement that returns no rows. */
  void execute(String sql) {
    query(sql, Map.of(), Map.of(), insertTimeout, InputStream::readAllBytes);
  }

  /**
   * Runs a query and reads its response in the format that the query specifies.
   *
   * <p>An interrupt of the thread also cancels the query in ClickHouse.
   *
   * @param parameters values of {@code {name:Type}} in text form
   * @param settings settings of ClickHouse for this query
   */
  @SuppressWarnings("try") // an interrupted close is handled like any interrupt
  <T> T query(
      String sql,
      Map<String, String> parameters,
      Map<String, String> settings,
      Duration timeout,
      ResponseReader<T> reader) {
    var id = UUID.randomUUID().toString();
    var request = new QuerySettings().setQueryId(id);
    request.setNetworkTimeout(timeout.plus(TIMEOUT_MARGIN).toMillis(), ChronoUnit.MILLIS);
    request.serverSetting("max_execution_time", String.valueOf(timeout.toSeconds()));
    settings.forEach(request::serverSetting);
    try (var response = client.query(sql, Map.copyOf(parameters), request).get();
        var in = response.getInputStream()) {
      return reader.read(in);
    } catch (Exception e) {
      if (e instanceof InterruptedException || Thread.interrupted()) {
        cancel(id);
        Thread.currentThread().interrupt();
      }
      throw toException(e).asReadFailure();
    }
  }

  /**
   * Cancels a query whose caller is gone, since ClickHouse continues it otherwise. Has no effect on
   * a query that has not started yet.
   */
  @SuppressWarnings("try") // after an interrupt, the query ends by its time limit
  private void cancel(String id) {
    var settings = new QuerySettings();
    settings.setNetworkTimeout(CANCEL_TIMEOUT.toMillis(), ChronoUnit.MILLIS);
    try (var _ =
        client
            .query("KILL QUERY WHERE query_id = {id:String} ASYNC", Map.of("id", id), settings)
            .get()) {
      // the query is cancelled
    } catch (Exception _) {
      // the query ends by its time limit
    }
  }

  /**
   * Kills the inserts whose query id has this prefix, and returns once none of these runs any more.
   * An insert that waits for delayed bytes only ends after {@code http_receive_timeout} of
   * ClickHouse, which is longer than the timeout here. An insert of which too few bytes have
   * arrived to know its id is not killed.
   *
   * @throws ClickHouseException when the outcome is unknown after the timeout
   */
  void killInserts(String prefix) {
    byte[] response;
    try {
      response =
          query(
              "KILL QUERY WHERE startsWith(query_id, {prefix:String}) SYNC FORMAT TSV",
              Map.of("prefix", prefix),
              Map.of(),
              KILL_TIMEOUT,
              InputStream::readAllBytes);
    } catch (ClickHouseException e) {
      throw ClickHouseException.unreachable(
          "an earlier insert may still run: " + e.getMessage(), e);
    }
    // One line per insert, its state first.
    if (!new String(response, UTF_8).lines().allMatch(line -> line.startsWith("finished\t"))) {
      throw ClickHouseException.retryable("an earlier insert of these records is still running");
    }
  }

  /** Inserts one block; see the other {@code insert} method. */
  void insert(String table, NativeBlock block, String token, String queryId) {
    insert(
        table,
        block.columnNames(),
        out -> {
          block.writeTo(out);
          return block.rows();
        },
        token,
        queryId);
  }

  /**
   * Inserts all blocks or none, once per token: ClickHouse combines the blocks before it creates a
   * part.
   *
   * @param queryId the id of this attempt in ClickHouse
   */
  void insert(
      String table, List<String> columns, BlockSource source, String token, String queryId) {
    var writer = new InsertStreamWriter(source);
    var request =
        new InsertSettings()
            .setDeduplicationToken(token)
            .setQueryId(queryId)
            // The delivery retries an insert with unknown outcome, not the client.
            .setOption(ClientConfigProperties.RETRY_ON_FAILURE.getKey(), 0)
            .serverSetting("async_insert", "0")
            .serverSetting("insert_deduplicate", "1")
            .serverSetting("deduplicate_blocks_in_dependent_materialized_views", "1")
            // One part per day, regardless of the number of blocks.
            .serverSetting("min_insert_block_size_rows", UNLIMITED_ROWS)
            .serverSetting("min_insert_block_size_bytes", "0")
            // With more threads, blocks would only be passed between threads.
            .serverSetting("max_threads", "1")
            .serverSetting("max_insert_threads", "1")
            .serverSetting("max_execution_time", String.valueOf(insertTimeout.toSeconds()));
    try (var response =
        client.insert(table, columns, writer, ClickHouseFormat.Native, request).get()) {
      // The rows of views are included.
      if (writer.rows == 0 || response.getWrittenRows() < writer.rows) {
        throw ClickHouseException.retryable(
            "ClickHouse confirmed %d of %d rows".formatted(response.getWrittenRows(), writer.rows));
      }
    } catch (Exception e) {
      if (writer.failure != null) {
        throw writer.failure;
      }
      throw toException(e);
    }
  }

  /**
   * Writes the blocks to the request, and makes the request invalid if not all blocks are written,
   * since the HTTP client ends the request as if it were complete (ADR 0024).
   */
  private static final class InsertStreamWriter implements DataStreamWriter {
    /** The start of an invalid block: it has more columns than ClickHouse accepts. */
    private static final byte[] INVALID_BLOCK = {-1, -1, -1, -1, -1, -1, -1, -1, 127};

    private final BlockSource source;
    private boolean started;
    private long rows;
    private @Nullable RuntimeException failure;

    InsertStreamWriter(BlockSource source) {
      this.source = source;
    }

    @Override
    public void onOutput(OutputStream out) throws IOException {
      boolean complete = false;
      try {
        if (started) { // the HTTP client below the library retries after 429 and 503
          throw new IOException("automatic retry of an insert suppressed");
        }
        started = true;
        rows = source.writeTo(out);
        complete = true;
      } catch (RuntimeException e) {
        failure = e;
        throw new IOException(e);
      } finally {
        if (!complete) {
          out.write(INVALID_BLOCK); // so that ClickHouse rejects the incomplete insert
        }
      }
    }
  }

  private static ClickHouseException toException(Exception e) {
    if (e instanceof InterruptedException) {
      Thread.currentThread().interrupt();
    }
    for (Throwable cause = e; cause != null; cause = cause.getCause()) {
      if (cause instanceof ClickHouseException known) {
        return known;
      }
      if (cause instanceof ServerException server && server.getCode() > 0) {
        var message = server.getMessage();
        return ClickHouseException.ofServerError(
            server.getCode(), message == null ? "" : message, e);
      }
    }
    var last = e instanceof ExecutionException && e.getCause() != null ? e.getCause() : e;
    while (last.getCause() != null) {
      last = last.getCause();
    }
    return ClickHouseException.unreachable(
        "ClickHouse is unreachable: " + last.getClass().getSimpleName() + ": " + last.getMessage(),
        e);
  }

  @Override
  public void close() {
    client.close();
  }
}
