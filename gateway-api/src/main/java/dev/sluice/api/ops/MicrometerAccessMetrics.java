package dev.sluice.api.ops;

import dev.sluice.api.security.AccessControl.Transport;
import dev.sluice.api.security.AccessDecision.DenialReason;
import dev.sluice.api.security.AccessMetrics;
import dev.sluice.core.security.ApiKeyAuthenticator;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.InstantSource;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The Micrometer meters of access control. No label has a value that a client chooses. */
public final class MicrometerAccessMetrics implements AccessMetrics {
  private final Map<Transport, Map<DenialReason, Counter>> denied = new EnumMap<>(Transport.class);

  /**
   * @param fileError the reason why the file of keys is not in use as it is now; null when it is
   */
  public MicrometerAccessMetrics(
      MeterRegistry registry,
      ApiKeyAuthenticator keys,
      Supplier<@Nullable String> fileError,
      InstantSource clock) {
    for (var transport : Transport.values()) {
      var counters = new EnumMap<DenialReason, Counter>(DenialReason.class);
      for (var reason : DenialReason.values()) {
        counters.put(
            reason,
            Counter.builder("sluice.security.denied")
                .description("Requests that access control denied")
                .tag("transport", label(transport))
                .tag("reason", label(reason))
                .register(registry));
      }
      denied.put(transport, counters);
    }
    Gauge.builder(
            "sluice.security.keys",
            keys,
            all -> all.keys().stream().filter(key -> !key.isExpired(clock.instant())).count())
        .description("API keys that are valid now")
        .register(registry);
    Gauge.builder("sluice.security.keys.file.invalid", () -> fileError.get() == null ? 0 : 1)
        .description("1 while the file of API keys is invalid and the previous keys stay in use")
        .register(registry);
  }

  private static String label(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }

  @Override
  public void recordDenied(Transport transport, DenialReason reason) {
    Objects.requireNonNull(Objects.requireNonNull(denied.get(transport)).get(reason)).increment();
  }
}
