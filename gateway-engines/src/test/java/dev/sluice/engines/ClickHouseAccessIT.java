package dev.sluice.engines;

import static dev.sluice.engines.EngineClients.clickHouse;
import static dev.sluice.engines.EngineClients.query;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.engines.EmbeddedClickHouse.ClickHouseEngineSettings;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests what the users of the managed ClickHouse cannot do. */
class ClickHouseAccessIT {

  /** The errors by which ClickHouse refuses a statement for lack of rights. */
  private static final String REFUSAL =
      "ACCESS_DENIED|READONLY|INTO_OUTFILE_NOT_ALLOWED|SETTING_CONSTRAINT_VIOLATION"
          + "|Permission denied|Not enough privileges|SUPPORT_IS_DISABLED";

  @TempDir static Path directory;

  private static EmbeddedClickHouse engine;
  private static Path outside;

  @BeforeAll
  static void start() throws Exception {
    outside = Files.createDirectories(directory.resolve("outside"));
    Files.writeString(outside.resolve("secret"), "top secret");
    engine = EmbeddedClickHouse.start(clickHouse(directory.resolve("engine")));
    assertThat(query(engine, "CREATE TABLE logs (a Int64) ENGINE = MergeTree ORDER BY a"))
        .isEmpty();
    assertThat(query(engine, "INSERT INTO logs VALUES (1)")).isEmpty();
  }

  @AfterAll
  static void close() {
    engine.close();
  }

  private static String read(String sql) throws Exception {
    return query(engine, EmbeddedClickHouse.READER, engine.readerPassword(), sql);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "CREATE DICTIONARY d (k UInt64, v String) PRIMARY KEY k LAYOUT(FLAT()) LIFETIME(0)"
            + " SOURCE(EXECUTABLE(COMMAND 'touch <out>/ran' FORMAT 'TSV'))",
        "CREATE DICTIONARY d (k UInt64, v String) PRIMARY KEY k LAYOUT(FLAT()) LIFETIME(0)"
            + " SOURCE(FILE(PATH '<out>/secret' FORMAT 'TSV'))",
        "CREATE TABLE t (a String) ENGINE = File(LineAsString, '<out>/secret')",
        "CREATE TABLE t (a String) ENGINE = File(LineAsString)",
        "CREATE TABLE t (a String) ENGINE = URL('http://127.0.0.1:1/', LineAsString)",
        "CREATE TABLE t (a String) ENGINE = Executable('ran', TSV)",
        "CREATE TABLE t (a String) ENGINE = Distributed('c', 'default', 'logs')",
        "CREATE TABLE t (a UInt64) ENGINE = SQLite('<out>/db', 't')",
        "CREATE TABLE t (a String) ENGINE = Memory",
        "CREATE TEMPORARY TABLE t (a String)",
        "CREATE TABLE t AS file('<out>/secret', LineAsString)",
        "CREATE VIEW v AS SELECT * FROM file('<out>/secret', LineAsString)",
        "CREATE VIEW v DEFINER = default SQL SECURITY DEFINER AS SELECT 1",
        "CREATE VIEW v SQL SECURITY NONE AS SELECT 1",
        "SELECT * FROM file('<out>/secret', LineAsString)",
        "SELECT file('<out>/secret')",
        "DESCRIBE TABLE file('<out>/secret', LineAsString)",
        "INSERT INTO FUNCTION file('<out>/ran', LineAsString, 'a String') VALUES ('x')",
        "SELECT * FROM url('http://127.0.0.1:1/', LineAsString, 'a String')",
        "SELECT * FROM s3('http://127.0.0.1:1/bucket/x', 'a', 'b', TSV, 'a String')",
        "SELECT * FROM remote('127.0.0.1:1', system.one)",
        "SELECT * FROM mysql('127.0.0.1:1', 'd', 't', 'u', 'p')",
        "SELECT * FROM sqlite('<out>/db', 't')",
        "SELECT 1 INTO OUTFILE '<out>/ran'",
        "BACKUP TABLE logs TO File('<out>/ran')",
        "CREATE TABLE t (a Int64) ENGINE = MergeTree ORDER BY a"
            + " SETTINGS disk = disk(type = s3, endpoint = 'http://127.0.0.1:1/bucket/x/',"
            + " access_key_id = 'a', secret_access_key = 'b')",
        "CREATE TABLE t (a Int64) ENGINE = MergeTree ORDER BY a"
            + " SETTINGS disk = disk(type = web, endpoint = 'http://127.0.0.1:1/')",
        "ALTER TABLE logs FREEZE",
        "SYSTEM SHUTDOWN",
        "SYSTEM STOP LISTEN HTTP",
        "SYSTEM STOP MERGES logs",
        "SYSTEM FLUSH LOGS",
        "SYSTEM DROP DNS CACHE",
        "CREATE USER another",
        "ALTER USER sluice IDENTIFIED BY 'x'",
        "CREATE ROLE another",
        "CREATE ROW POLICY p ON logs USING 1",
        "GRANT SELECT ON *.* TO sluice_reader",
        "EXECUTE AS default SELECT 1",
        "CREATE FUNCTION f AS x -> x",
        "CREATE NAMED COLLECTION n AS a = 1",
        "CREATE DATABASE another",
        "DROP DATABASE default",
        "SELECT * FROM system.server_settings",
        "SELECT * FROM system.users",
        "SELECT 1 SETTINGS add_http_cors_header = 1",
        "SELECT 1 SETTINGS http_response_headers = $${'Access-Control-Allow-Origin':'*'}$$",
      })
  void query_beyondTheTables_isRefused(String sql) throws Exception {
    String statement = sql.replace("<out>", outside.toString());

    assertThat(query(engine, statement)).containsPattern(REFUSAL).doesNotContain("top secret");
    assertThat(read(statement)).containsPattern(REFUSAL).doesNotContain("top secret");
    assertThat(outside).isDirectoryNotContaining("glob:**/ran");
  }

  @Test
  void query_localDisk_createsNoDirectory() throws Exception {
    Path disk = outside.resolve("disk");

    assertThat(
            query(
                engine,
                "CREATE TABLE t (a Int64) ENGINE = MergeTree ORDER BY a"
                    + " SETTINGS disk = disk(type = local, path = '%s/')".formatted(disk)))
        .contains("Exception");
    assertThat(disk).doesNotExist();
  }

  @Test
  void query_attachFromAnotherDirectory_leavesItThere() throws Exception {
    Path parts = Files.createDirectories(outside.resolve("parts"));

    assertThat(
            query(
                engine,
                "ATTACH TABLE t FROM '%s/' (a Int64) ENGINE = MergeTree ORDER BY a"
                    .formatted(parts)))
        .isNotEmpty();
    assertThat(parts).isDirectory();
  }

  @Test
  void query_environmentOfTheGateway_isNotReadable() throws Exception {
    assertThat(query(engine, "SELECT file('/proc/%d/environ')".formatted(pid())))
        .contains("Permission denied");
  }

  private static long pid() {
    return ProcessHandle.current().pid();
  }

  @Test
  void query_s3Disk_connectsToNoServer() throws Exception {
    try (ServerSocket server = new ServerSocket(0, 1, InetAddress.ofLiteral("127.0.0.1"))) {
      query(
          engine,
          "CREATE TABLE t (a Int64) ENGINE = MergeTree ORDER BY a SETTINGS disk = disk("
              + "type = s3, endpoint = 'http://127.0.0.1:%d/bucket/x/', access_key_id = 'a',"
                  .formatted(server.getLocalPort())
              + " secret_access_key = 'b', s3_max_single_part_upload_size = 1,"
              + " skip_access_check = false)");

      server.setSoTimeout(1);
      assertThat(accepts(server)).isFalse();
    }
  }

  private static boolean accepts(ServerSocket server) throws IOException {
    try (Socket _ = server.accept()) {
      return true;
    } catch (SocketTimeoutException _) {
      return false;
    }
  }

  @Test
  void query_asReader_readsTheTablesOnly() throws Exception {
    assertThat(read("SELECT a FROM logs")).isEqualTo("1");
    assertThat(read("SHOW TABLES")).isEqualTo("logs");
    for (String sql :
        new String[] {
          "INSERT INTO logs VALUES (2)",
          "ALTER TABLE logs DELETE WHERE 1",
          "CREATE TABLE t (a Int64) ENGINE = MergeTree ORDER BY a",
          "TRUNCATE TABLE logs",
          "DROP TABLE logs",
          "OPTIMIZE TABLE logs",
          "KILL QUERY WHERE 1",
          "SELECT 1 SETTINGS max_memory_usage = 0",
          "SET readonly = 0"
        }) {
      assertThat(read(sql)).as(sql).containsPattern(REFUSAL);
    }
    assertThat(
            read(
                "SELECT getSetting('readonly'), getSetting('max_memory_usage') > 0,"
                    + " getSetting('max_execution_time') > 0"))
        .isEqualTo("1\t1\t1");
  }

  /** Sends a POST with a query, which a web page could send, and returns the whole response. */
  private static String post(String target, String sql, String... headers) throws IOException {
    try (Socket socket = new Socket(InetAddress.ofLiteral("127.0.0.1"), engine.httpPort())) {
      socket.setSoTimeout((int) Duration.ofSeconds(30).toMillis());
      String head =
          Stream.concat(
                  Stream.of(
                      "POST " + target + " HTTP/1.1",
                      "Host: 127.0.0.1:" + engine.httpPort(),
                      "Content-Type: text/plain",
                      "Content-Length: " + sql.length(),
                      "Connection: close"),
                  Stream.of(headers))
              .collect(Collectors.joining("\r\n", "", "\r\n\r\n"));
      socket.getOutputStream().write((head + sql).getBytes(UTF_8));
      return new BufferedReader(new InputStreamReader(socket.getInputStream(), UTF_8))
          .lines()
          .collect(Collectors.joining("\n"));
    }
  }

  private static String credentials() {
    return "user=sluice&password=" + EngineClients.PASSWORD.replace(" ", "%20");
  }

  @Test
  void post_fromWebPage_isNotExecuted() throws Exception {
    for (String origin : List.of("http://attacker.example", "null", "http://localhost:8080")) {
      assertThat(post("/?" + credentials(), "INSERT INTO logs VALUES (7)", "Origin: " + origin))
          .startsWith("HTTP/1.1 403 ")
          .doesNotContain("Access-Control-Allow");
    }

    assertThat(read("SELECT count() FROM logs WHERE a = 7")).isEqualTo("0");
    assertThat(post("/?" + credentials(), "SELECT 'answer'"))
        .startsWith("HTTP/1.1 200 ")
        .contains("answer");
  }

  @Test
  void post_withoutPassword_isNotExecuted() throws Exception {
    for (String target : List.of("/", "/?add_http_cors_header=1", "/?user=sluice_reader")) {
      assertThat(post(target, "SELECT 'answer'"))
          .doesNotStartWith("HTTP/1.1 200 ")
          .doesNotContain("answer")
          .doesNotContain("Access-Control-Allow");
    }
  }

  @Test
  void post_corsSetting_isRefused() throws Exception {
    assertThat(post("/?add_http_cors_header=1&" + credentials(), "SELECT 'answer'"))
        .contains("SETTING_CONSTRAINT_VIOLATION")
        .doesNotContain("Access-Control-Allow");
  }

  @Test
  void start_withoutPassword_generatesOneForTheOwner(@TempDir Path own) throws Exception {
    String generated;
    try (EmbeddedClickHouse first = EmbeddedClickHouse.start(settings(own, null))) {
      generated = first.password();
      assertThat(generated).matches("[0-9a-f]{64}").isNotEqualTo(first.readerPassword());
      assertThat(first.readerPassword()).matches("[0-9a-f]{64}");
      assertThat(query(first, "sluice", generated, "SELECT 1")).isEqualTo("1");
      assertThat(query(first, "sluice", "sluice", "SELECT 1")).contains("AUTHENTICATION_FAILED");
      assertThat(own.resolve("password")).content().isEqualTo(generated + "\n");
      assertThat(own.resolve("reader-password")).content().isEqualTo(first.readerPassword() + "\n");
      assertThat(query(first, "sluice", generated, "SELECT file('%s/password')".formatted(own)))
          .contains("Permission denied");
      assertThat(query(first, "sluice_admin", generated, "SELECT 1"))
          .contains("AUTHENTICATION_FAILED");
    }
    try (Stream<Path> files = Files.walk(own)) {
      assertThat(files)
          .hasSizeGreaterThan(10)
          .allSatisfy(
              file ->
                  assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
                      .endsWith("------"));
    }

    try (EmbeddedClickHouse second = EmbeddedClickHouse.start(settings(own, null))) {
      assertThat(second.password()).isEqualTo(generated);
    }
    try (EmbeddedClickHouse third = EmbeddedClickHouse.start(settings(own, "configured"))) {
      assertThat(query(third, "sluice", "configured", "SELECT 1")).isEqualTo("1");
      assertThat(query(third, "sluice", generated, "SELECT 1")).contains("AUTHENTICATION_FAILED");
      assertThat(own.resolve("password")).doesNotExist();
    }
  }

  private static ClickHouseEngineSettings settings(Path own, @Nullable String password) {
    return new ClickHouseEngineSettings(
        own, EngineClients.cache(), 0, -1, "sluice", password, false);
  }
}
