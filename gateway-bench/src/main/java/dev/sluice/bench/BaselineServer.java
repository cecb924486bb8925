package dev.sluice.bench;

import dev.sluice.bench.stages.StageServer;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A process with one of the earlier stages, which no setting of the gateway provides; see {@link
 * StageServer}. It has no ledger.
 */
final class BaselineServer implements LogServer {
  private final HttpClient http = HttpClient.newHttpClient();
  private final int port = JavaProcess.freePort();
  private final JavaProcess process;

  /**
   * Starts the server and waits until it is ready.
   *
   * @param stage the number of the stage
   * @param folder the directory of its log file
   * @param settings the settings by which a gateway finds its engines
   */
  BaselineServer(int stage, Path folder, String... settings)
      throws IOException, InterruptedException {
    var arguments =
        new ArrayList<>(
            List.of(
                "-cp",
                System.getProperty("java.class.path"),
                StageServer.class.getName(),
                "--stage=" + stage,
                "--port=" + port));
    arguments.addAll(List.of(settings));
    process = new JavaProcess(folder.resolve("server.log"), this::isReady, arguments);
  }

  private boolean isReady() throws IOException, InterruptedException {
    var ready = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/ready")).build();
    return http.send(ready, BodyHandlers.discarding()).statusCode() == 200;
  }

  @Override
  public int port() {
    return port;
  }

  @Override
  public long pid() {
    return process.handle().pid();
  }

  @Override
  public @Nullable Long imbalance() {
    return null;
  }

  @Override
  public double allocatedBytes() {
    return Double.NaN;
  }

  @Override
  public void kill() throws InterruptedException {
    process.kill();
  }

  @Override
  public void restart() throws IOException, InterruptedException {
    process.restart();
  }

  @Override
  public void close() {
    process.close();
    http.shutdownNow();
  }
}
