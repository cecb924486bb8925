package dev.sluice.api.faults;

import dev.sluice.api.config.GatewayApplication;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import org.springframework.boot.SpringApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Primary;

/** A gateway whose clock a test sets: a file has the offset in seconds. */
@Configuration(proxyBeanMethods = false)
class SkewedClockGateway {
  static final String FILE = "faults.clock";

  public static void main(String[] arguments) {
    new SpringApplication(GatewayApplication.class, SkewedClockGateway.class).run(arguments);
  }

  @Bean
  @Primary
  InstantSource shiftedClock() {
    var file = Path.of(System.getProperty(FILE));
    return () -> Instant.now().plus(readSkew(file));
  }

  private static Duration readSkew(Path file) {
    try {
      return Files.exists(file)
          ? Duration.ofSeconds(Long.parseLong(Files.readString(file).strip()))
          : Duration.ZERO;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
