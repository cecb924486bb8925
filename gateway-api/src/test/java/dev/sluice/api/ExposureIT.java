package dev.sluice.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.ConnectException;
import java.net.Socket;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Checks what a gateway without configuration exposes. */
class ExposureIT {
  private final Gateway gateway = Gateway.shared();

  /** Linux has many loopback addresses; a server on all interfaces answers on each. */
  @Test
  @EnabledOnOs(OS.LINUX)
  void connect_otherAddressThan127001_isRefusedOnEveryPort() throws IOException {
    int management = gateway.management("/").getPort();
    for (int port :
        List.of(gateway.httpPort(), gateway.otlpPort(), gateway.grpcPort(), management)) {
      new Socket("127.0.0.1", port).close();

      assertThatThrownBy(() -> new Socket("127.0.0.2", port)).isInstanceOf(ConnectException.class);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "/beans",
        "/caches",
        "/conditions",
        "/configprops",
        "/env",
        "/heapdump",
        "/loggers",
        "/mappings",
        "/metrics",
        "/sbom",
        "/scheduledtasks",
        "/shutdown",
        "/startup",
        "/threaddump"
      })
  void management_endpointThatIsNotListed_is404(String path) {
    assertThat(gateway.get(gateway.management("/actuator" + path)).statusCode()).isEqualTo(404);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"health", "info", "prometheus", "ledger", "deadletters", "dictionary", "wal"})
  void management_listedEndpoint_responds(String id) {
    assertThat(gateway.get(gateway.management("/actuator/" + id)).statusCode()).isEqualTo(200);
  }

  @Test
  void health_byDefault_showsTheAddress() {
    var bind =
        Gateway.json(gateway.get(gateway.management("/actuator/health"))).at("/components/bind");

    assertThat(bind.at("/details/addresses/0").asString()).isEqualTo("127.0.0.1");
    assertThat(bind.at("/details/insecure").isMissingNode()).isTrue();
  }
}
