package dev.sluice.api.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.api.config.BindCheck.UnsafeBindException;
import dev.sluice.api.config.BindCheck.UnsafeBindFailureAnalyzer;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.env.YamlPropertySourceLoader;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.io.ClassPathResource;

/** Tests which settings refuse the start, with the defaults of application.yaml. */
@ExtendWith(OutputCaptureExtension.class)
class BindCheckTest {
  private static final String KEYS = "sluice.security.keys-file=/etc/sluice/keys.yaml";
  private static final String[] TLS = {
    "server.ssl.bundle=gateway", "spring.grpc.server.ssl.bundle=gateway"
  };

  private static StandardEnvironment settings(String... settings) {
    var own = new TreeMap<String, Object>();
    for (var setting : settings) {
      var parts = setting.split("=", 2);
      own.put(parts[0], parts[1]);
    }
    var environment = new StandardEnvironment();
    environment.getPropertySources().addFirst(new MapPropertySource("test", own));
    try {
      new YamlPropertySourceLoader()
          .load("application", new ClassPathResource("application.yaml"))
          .forEach(environment.getPropertySources()::addLast);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
    return environment;
  }

  private static void check(String... settings) {
    try (var context = new GenericApplicationContext()) {
      context.setEnvironment(settings(settings));
      new BindCheck().initialize(context);
    }
  }

  private static String[] with(String[] some, String... others) {
    var all = java.util.Arrays.copyOf(some, some.length + others.length);
    System.arraycopy(others, 0, all, some.length, others.length);
    return all;
  }

  @Test
  void start_byDefault_listensOnLoopbackAndSaysSo(CapturedOutput output) {
    check();

    assertThat(BindAddresses.of(settings()).addresses()).containsExactly("127.0.0.1");
    assertThat(output).contains("listening on 127.0.0.1 only, without keys");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "sluice.bind=0.0.0.0",
        "sluice.bind=::",
        "sluice.bind=192.0.2.1",
        "server.address=0.0.0.0",
        "management.server.address=0.0.0.0",
        "spring.grpc.server.address=0.0.0.0",
      })
  void start_otherAddressWithoutKeysAndTls_isRefused(String setting) {
    assertThatThrownBy(() -> check(setting))
        .isInstanceOf(UnsafeBindException.class)
        .hasMessageContaining("sluice.security.keys-file")
        .hasMessageContaining(".ssl.bundle");
  }

  @Test
  void start_otherAddressWithTlsOnly_isRefused() {
    assertThatThrownBy(() -> check(with(TLS, "sluice.bind=0.0.0.0")))
        .isInstanceOf(UnsafeBindException.class)
        .hasMessageContaining("sluice.security.keys-file")
        .hasMessageNotContaining("ssl");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "server.ssl.enabled=false",
        "spring.grpc.server.ssl.enabled=false",
        "management.server.ssl.enabled=false"
      })
  void start_otherAddressAndOnePortWithoutTls_isRefused(String setting) {
    assertThatThrownBy(() -> check(with(TLS, KEYS, "sluice.bind=0.0.0.0", setting)))
        .isInstanceOf(UnsafeBindException.class)
        .hasMessageContaining(setting.substring(0, setting.indexOf(".ssl")) + ".address")
        .hasMessageNotContaining("keys-file");
  }

  @Test
  void start_otherAddressWithKeysAndTls_isAllowed() {
    assertThatCode(() -> check(with(TLS, KEYS, "sluice.bind=0.0.0.0"))).doesNotThrowAnyException();
  }

  @Test
  void start_managementStaysOnLoopbackWithoutTls_isAllowed() {
    assertThatCode(
            () ->
                check(
                    with(
                        TLS,
                        KEYS,
                        "sluice.bind=0.0.0.0",
                        "management.server.address=127.0.0.1",
                        "management.server.ssl.enabled=false")))
        .doesNotThrowAnyException();
  }

  @Test
  void start_insecure_isAllowedAndLogged(CapturedOutput output) {
    check("sluice.bind=0.0.0.0", "sluice.security.insecure=true");

    assertThat(output).contains("insecure: sluice.security.insecure is set");
  }

  @Test
  void report_refusedStart_namesTheRemedies() {
    var failure = new UnsafeBindException(BindAddresses.of(settings("sluice.bind=0.0.0.0")));

    var report = Objects.requireNonNull(new UnsafeBindFailureAnalyzer().analyze(failure));

    assertThat(report.getDescription()).contains("sluice.security.keys-file");
    assertThat(report.getAction()).contains("sluice.bind", "sluice.security.insecure=true");
  }

  private record Task(Duration delay, Runnable action) {}

  @Test
  void insecure_eachHour_isLoggedAndHealthShowsIt(CapturedOutput output) {
    var tasks = new ArrayDeque<Task>();
    var bind = BindAddresses.of(settings("sluice.bind=0.0.0.0", "sluice.security.insecure=true"));
    var reminder =
        new InsecureBindReminder(bind, (delay, action) -> tasks.add(new Task(delay, action)));
    reminder.start();

    for (int i = 0; i < 2; i++) {
      var task = tasks.remove();
      assertThat(task.delay()).isEqualTo(Duration.ofHours(1));
      task.action().run();
    }

    assertThat(output.toString().lines().filter(line -> line.contains("insecure:"))).hasSize(2);
    var health = reminder.health();
    assertThat(health.getStatus()).isEqualTo(Status.UP);
    assertThat(health.getDetails()).containsKey("insecure");
  }

  @Test
  void loopback_isNotLogged_andHealthHasNoWarning() {
    var reminder =
        new InsecureBindReminder(
            BindAddresses.of(settings()),
            (_, _) -> {
              throw new AssertionError("scheduled");
            });

    reminder.start();

    assertThat(reminder.health().getDetails())
        .isEqualTo(Map.of("addresses", java.util.List.of("127.0.0.1")));
  }
}
