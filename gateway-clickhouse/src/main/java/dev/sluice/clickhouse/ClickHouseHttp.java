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
 * ends in success or in {@link ClickHouseFailed}; only what does not insert is repeated by itself,
 * when a connection turns out to be dead.
 *
 * <p>Success means that ClickHouse had finished before its first byte came: with {@code
 * wait_end_of_query} it holds the answer back, so that an error cannot follow a status of 200.
 *
 * <p>Safe for use by many threads. Building it needs no ClickHouse.
 */
final class ClickHouseHttp implements AutoCloseable {
  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(5);

  /** By this much the client waits longer than ClickHouse works, to hear how it ended. */
  private static final Duration MARGIN = Duration.ofSeconds(5);

  /** Whoever waits for it holds the place of another query. */
  private static final Duration CANCEL_PATIENCE = Duration.ofSeconds(2);

  /** An insert ends at its next block; what takes longer is asked about again. */
  private static final Duration END_PATIENCE = Duration.ofSeconds(10);

  /**
   * More than all queries, inserts, what each of those writes into the dictionary meanwhile, and
   * probes together; the client's own 10 would be shared.
   */
  private static final int MAX_CONNECTIONS = 256;

  /** Rows of an insert, which are fewer. */
  private static final String MANY = String.valueOf(1L << 40);

  private final Client client;
  private final Duration insertTimeout;

  /** Turns an answer's body into a value. */
  interface Body<T> {
    T read(InputStream in) throws IOException;
  }

  /** Writes the blocks of an insert; whatever it throws ends the insert, and comes out of it. */
  interface Blocks {
    /**
     * @return rows in all blocks
     */
    long writeTo(OutputStream out) throws IOException, InterruptedException;
  }

  ClickHouseHttp(ClickHouseSettings settings) {
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
            .setSocketTimeout(insertTimeout.plus(MARGIN).toMillis(), ChronoUnit.MILLIS)
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
      Body<T> body) {
    var id = UUID.randomUUID().toString();
    var request = new QuerySettings().setQueryId(id);
    request.setNetworkTimeout(timeout.plus(MARGIN).toMillis(), ChronoUnit.MILLIS);
    request.serverSetting("max_execution_time", String.valueOf(timeout.toSeconds()));
    settings.forEach(request::serverSetting);
    try (var response = client.query(sql, Map.copyOf(parameters), request).get();
        var in = response.getInputStream()) {
      return body.read(in);
    } catch (Exception e) {
      if (e instanceof InterruptedException || Thread.interrupted()) {
        cancel(id);
        Thread.currentThread().interrupt();
      }
      throw failed(e).withoutRecords();
    }
  }

  /** ClickHouse works on when nobody listens any more; so it is told, if it knows the query yet. */
  @SuppressWarnings("try") // its own interrupt is one more reason to give up
  private void cancel(String id) {
    var settings = new QuerySettings();
    settings.setNetworkTimeout(CANCEL_PATIENCE.toMillis(), ChronoUnit.MILLIS);
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
   * @throws ClickHouseFailed when that is not known in time
   */
  void endInserts(String prefix) {
    byte[] answer;
    try {
      answer =
          query(
              "KILL QUERY WHERE startsWith(query_id, {prefix:String}) SYNC FORMAT TSV",
              Map.of("prefix", prefix),
              Map.of(),
              END_PATIENCE,
              InputStream::readAllBytes);
    } catch (ClickHouseFailed e) {
      throw ClickHouseFailed.unreachable("an earlier insert may still run: " + e.getMessage(), e);
    }
    // one line for each, its state first
    if (!new String(answer, UTF_8).lines().allMatch(line -> line.startsWith("finished\t"))) {
      throw ClickHouseFailed.inDoubt("an earlier insert of the same records does not end");
    }
  }

  /** Inserts one block, as below. */
  void insert(String table, NativeBlock block, String token, String queryId) {
    insert(
        table,
        block.names(),
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
  void insert(String table, List<String> columns, Blocks blocks, String token, String queryId) {
    var sent = new Sent(blocks);
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
            .serverSetting("min_insert_block_size_rows", MANY)
            .serverSetting("min_insert_block_size_bytes", "0")
            // more threads would only hand the blocks around
            .serverSetting("max_threads", "1")
            .serverSetting("max_insert_threads", "1")
            .serverSetting("max_execution_time", String.valueOf(insertTimeout.toSeconds()));
    try (var response =
        client.insert(table, columns, sent, ClickHouseFormat.Native, request).get()) {
      // views of the table count too
      if (sent.rows == 0 || response.getWrittenRows() < sent.rows) {
        throw ClickHouseFailed.inDoubt(
            "ClickHouse confirmed %d of %d rows".formatted(response.getWrittenRows(), sent.rows));
      }
    } catch (Exception e) {
      if (sent.failure != null) {
        throw sent.failure;
      }
      throw failed(e);
    }
  }

  /** Hands the blocks on, and sees to it that half of them are not taken for all. */
  private static final class Sent implements DataStreamWriter {
    /** Where a block should begin: more columns than ClickHouse reads. */
    private static final byte[] NO_BLOCK = {-1, -1, -1, -1, -1, -1, -1, -1, 127};

    private final Blocks blocks;
    private boolean begun;
    private long rows;
    private @Nullable RuntimeException failure;

    Sent(Blocks blocks) {
      this.blocks = blocks;
    }

    @Override
    public void onOutput(OutputStream out) throws IOException {
      boolean whole = false;
      try {
        if (begun) { // the HTTP client under the vendor's sends again after 429 and 503
          throw new IOException("an insert is not repeated by itself");
        }
        begun = true;
        rows = blocks.writeTo(out);
        whole = true;
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new InterruptedIOException("interrupted");
      } catch (RuntimeException e) {
        failure = e;
        throw new IOException(e);
      } finally {
        if (!whole) {
          out.write(NO_BLOCK); // the client ends the request as if it were complete
        }
      }
    }
  }

  private static ClickHouseFailed failed(Exception e) {
    if (e instanceof InterruptedException) {
      Thread.currentThread().interrupt();
    }
    for (Throwable cause = e; cause != null; cause = cause.getCause()) {
      if (cause instanceof ClickHouseFailed known) {
        return known;
      }
      if (cause instanceof ServerException server && server.getCode() > 0) {
        var message = server.getMessage();
        return ClickHouseFailed.answered(server.getCode(), message == null ? "" : message, e);
      }
    }
    var last = e instanceof ExecutionException && e.getCause() != null ? e.getCause() : e;
    while (last.getCause() != null) {
      last = last.getCause();
    }
    return ClickHouseFailed.unreachable(
        "ClickHouse is out of reach: " + last.getClass().getSimpleName() + ": " + last.getMessage(),
        e);
  }

  @Override
  public void close() {
    client.close();
  }
}
