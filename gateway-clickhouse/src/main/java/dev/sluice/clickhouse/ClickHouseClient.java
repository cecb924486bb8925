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
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * The one class that knows the vendor's client. Each call is one request on the calling thread and
 * ends in success or in {@link ClickHouseException}; only what does not insert is repeated by
 * itself, when a connection turns out to be dead.
 *
 * <p>Success means that ClickHouse had finished before its first byte came: with {@code
 * wait_end_of_query} it holds the answer back, so that an error cannot follow a status of 200.
 *
 * <p>Safe for use by many threads. Building it needs no ClickHouse.
 */
final class ClickHouseClient implements AutoCloseable {
  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(5);

  /** By this much the client waits longer than ClickHouse works, to hear how it ended. */
  private static final Duration TIMEOUT_MARGIN = Duration.ofSeconds(5);

  /** Whoever waits for it holds the place of another query. */
  private static final Duration CANCEL_TIMEOUT = Duration.ofSeconds(2);

  /** An insert ends at its next block; what takes longer is asked about again. */
  private static final Duration KILL_TIMEOUT = Duration.ofSeconds(10);

  /**
   * More than all queries, inserts, what each of those writes into the dictionary meanwhile, and
   * probes together; the client's own 10 would be shared.
   */
  private static final int MAX_CONNECTIONS = 256;

  /** Rows of an insert, which are fewer. */
  private static final String UNLIMITED_ROWS = String.valueOf(1L << 40);

  private final Client client;
  private final Duration insertTimeout;

  /** Turns an answer's body into a value. */
  interface ResponseReader<T> {
    T read(InputStream in) throws IOException;
  }

  /** Writes the blocks of an insert; whatever it throws ends the insert, and comes out of it. */
  interface BlockSource {
    /**
     * @return rows in all blocks
     */
    long writeTo(OutputStream out) throws IOException, InterruptedException;
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
            // on one host or rack the CPU is dearer than the wire
            .compressClientRequest(false)
            .compressServerResponse(false)
            // a kept connection may have died with the ClickHouse before this one
            .setMaxRetries(2)
            .retryOnFailures(ClientFaultCause.NoHttpResponse)
            .setMaxConnections(MAX_CONNECTIONS)
            .setConnectTimeout(CONNECT_TIMEOUT.toMillis(), ChronoUnit.MILLIS)
            .setConnectionRequestTimeout(CONNECT_TIMEOUT.toMillis(), ChronoUnit.MILLIS)
            .setSocketTimeout(insertTimeout.plus(TIMEOUT_MARGIN).toMillis(), ChronoUnit.MILLIS)
            .setExecutionTimeout(0, ChronoUnit.MILLIS)
            // shorter than ClickHouse's own, so that it does not hang up first
            .setKeepAliveTimeout(3, ChronoUnit.SECONDS)
            .serverSetting("wait_end_of_query", "1")
            .build();
  }

  /** Runs a statement that gives no rows. */
  void execute(String sql) {
    query(sql, Map.of(), Map.of(), insertTimeout, InputStream::readAllBytes);
  }

  /**
   * Runs a query and reads its answer in the format the query names.
   *
   * <p>Interrupting the thread ends it here and in ClickHouse.
   *
   * @param parameters of {@code {name:Type}}, in text form
   * @param settings of ClickHouse, for this query
   */
  @SuppressWarnings("try") // that closing could be interrupted is dealt with like any interrupt
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

  /** ClickHouse works on when nobody listens any more; so it is told, if it knows the query yet. */
  @SuppressWarnings("try") // its own interrupt is one more reason to give up
  private void cancel(String id) {
    var settings = new QuerySettings();
    settings.setNetworkTimeout(CANCEL_TIMEOUT.toMillis(), ChronoUnit.MILLIS);
    try (var _ =
        client
            .query("KILL QUERY WHERE query_id = {id:String} ASYNC", Map.of("id", id), settings)
            .get()) {
      // it was told
    } catch (Exception _) {
      // it ends by its time limit
    }
  }

  /**
   * Ends the inserts whose id begins like this, and returns once none of them runs any more. One
   * that waits for bytes which do not come ends after ClickHouse's own {@code
   * http_receive_timeout}, which is longer than anyone waits here. One of which too little has come
   * to know its id is not among them.
   *
   * @throws ClickHouseException when that is not known in time
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
    // one line for each, its state first
    if (!new String(response, UTF_8).lines().allMatch(line -> line.startsWith("finished\t"))) {
      throw ClickHouseException.retryable("an earlier insert of the same records does not end");
    }
  }

  /** Inserts one block, as below. */
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
   * Inserts all of the blocks or none, once for each token: ClickHouse puts them together before it
   * makes a part of them.
   *
   * @param queryId under which ClickHouse knows this attempt
   */
  void insert(
      String table, List<String> columns, BlockSource source, String token, String queryId) {
    var writer = new InsertStreamWriter(source);
    var request =
        new InsertSettings()
            .setDeduplicationToken(token)
            .setQueryId(queryId)
            // an insert of unknown outcome is repeated by the delivery, not here
            .setOption(ClientConfigProperties.RETRY_ON_FAILURE.getKey(), 0)
            .serverSetting("async_insert", "0")
            .serverSetting("insert_deduplicate", "1")
            .serverSetting("deduplicate_blocks_in_dependent_materialized_views", "1")
            // one part for each day, however many blocks there are
            .serverSetting("min_insert_block_size_rows", UNLIMITED_ROWS)
            .serverSetting("min_insert_block_size_bytes", "0")
            // more threads would only hand the blocks around
            .serverSetting("max_threads", "1")
            .serverSetting("max_insert_threads", "1")
            .serverSetting("max_execution_time", String.valueOf(insertTimeout.toSeconds()));
    try (var response =
        client.insert(table, columns, writer, ClickHouseFormat.Native, request).get()) {
      // views of the table count too
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

  /** Hands the blocks on, and sees to it that half of them are not taken for all. */
  private static final class InsertStreamWriter implements DataStreamWriter {
    /** Where a block should begin: more columns than ClickHouse reads. */
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
        if (started) { // the HTTP client under the vendor's sends again after 429 and 503
          throw new IOException("an insert is not repeated by itself");
        }
        started = true;
        rows = source.writeTo(out);
        complete = true;
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new InterruptedIOException("interrupted");
      } catch (RuntimeException e) {
        failure = e;
        throw new IOException(e);
      } finally {
        if (!complete) {
          out.write(INVALID_BLOCK); // the client ends the request as if it were complete
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
        "ClickHouse is out of reach: " + last.getClass().getSimpleName() + ": " + last.getMessage(),
        e);
  }

  @Override
  public void close() {
    client.close();
  }
}
