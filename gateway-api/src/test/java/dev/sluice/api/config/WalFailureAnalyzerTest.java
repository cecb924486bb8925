package dev.sluice.api.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.sluice.core.port.SpoolConsumer.DeliveryLimits;
import dev.sluice.wal.WalSpool;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.boot.diagnostics.FailureAnalysis;

class WalFailureAnalyzerTest {
  @TempDir Path folder;

  private WalSpool open() {
    var wal =
        new Binder(new MapConfigurationPropertySource(Map.of("sluice.wal.dir", folder.toString())))
            .bindOrCreate("sluice.wal", Bindable.of(WalProperties.class));
    var deliveryLimits = new DeliveryLimits(1_000, 1 << 20, Duration.ZERO);
    return WalSpoolConfiguration.open(
        new WalSpool.WalSpoolSettings(
            wal.dir(),
            "one",
            wal.writeSettings(),
            wal.segmentSettings(),
            deliveryLimits,
            10,
            Duration.ofDays(1)),
        InstantSource.system());
  }

  private FailureAnalysis analysis() {
    var failure = catchThrowableOfType(WalUnavailableException.class, this::open);
    return new WalFailureAnalyzer().analyze(failure, failure);
  }

  @Test
  void analyze_directoryLockedByAnotherProcess_namesItAndTheRemedy() {
    try (var _ = open()) {
      var analysis = analysis();

      assertThat(analysis.getDescription())
          .contains("another process has locked the directory " + folder.toAbsolutePath());
      assertThat(analysis.getAction()).contains("sluice.wal.node");
    }
  }

  @Test
  void analyze_otherFailure_hasOnlyTheDescription() throws IOException {
    Files.createFile(folder.resolve("log.wal"));

    var analysis = analysis();

    assertThat(analysis.getDescription()).contains(folder.resolve("log.wal").toString());
    assertThat(analysis.getAction()).isNull();
  }
}
