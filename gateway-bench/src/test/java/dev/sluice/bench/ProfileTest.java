package dev.sluice.bench;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;
import static org.assertj.core.api.Assertions.offset;

import java.io.ByteArrayInputStream;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import javax.xml.parsers.DocumentBuilderFactory;
import jdk.jfr.Recording;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

@EnabledOnOs(OS.LINUX) // JFR samples CPU time only on Linux
class ProfileTest {
  private static final Duration CPU = Duration.ofMillis(300);

  @TempDir private Path folder;

  @Test
  void read_oneSpinningMethod_hasNearlyAllSamples() throws Exception {
    var profile = Profile.read(record(true));

    assertThat(profile.frames().getFirst().name()).startsWith("ProfileTest.");
    assertThat(profile.libraries().getFirst().name()).isEqualTo("dev.sluice.bench");
    assertThat(profile.libraries().stream().mapToDouble(Profile.Share::fraction).sum())
        .isCloseTo(1, offset(1e-9));
    assertThat(profile.root().children().stream().mapToLong(Profile.FlameNode::nanos).sum())
        .isEqualTo(profile.root().nanos());
    assertThat(profile.root().nanos()).isGreaterThan(CPU.toNanos() / 2);
  }

  @Test
  void svg_recording_isXmlWithTheMethod() throws Exception {
    var svg = new FlameGraph("a < b & c", Profile.read(record(true))).svg();

    var parsed =
        DocumentBuilderFactory.newInstance()
            .newDocumentBuilder()
            .parse(new ByteArrayInputStream(svg.getBytes(UTF_8)));
    assertThat(parsed.getElementsByTagName("text").item(0).getTextContent()).isEqualTo("a < b & c");
    assertThat(svg).contains("<title>ProfileTest.spin,");
  }

  @Test
  void read_noSamples_throws() throws Exception {
    var empty = record(false);

    assertThatIOException()
        .isThrownBy(() -> Profile.read(empty))
        .withMessageContaining("no jdk.CPUTimeSample");
  }

  private Path record(boolean sampled) throws Exception {
    var file = folder.resolve("recording.jfr");
    try (var recording = new Recording(Map.of())) {
      if (sampled) {
        recording.enable("jdk.CPUTimeSample").with("throttle", "1ms").withStackTrace();
      }
      recording.start();
      spin();
      recording.stop();
      recording.dump(file);
    }
    return file;
  }

  /**
   * Spins for an amount of CPU time, not wall-clock time, because the thread may have to wait for a
   * core.
   */
  private static void spin() {
    var threads = ManagementFactory.getThreadMXBean();
    long end = threads.getCurrentThreadCpuTime() + CPU.toNanos();
    double sum = 0;
    while (threads.getCurrentThreadCpuTime() < end) {
      for (int i = 0; i < 100_000; i++) {
        sum += Math.sqrt(sum + i);
      }
    }
    assertThat(sum).isPositive();
  }
}
