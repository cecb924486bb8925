package dev.sluice.api.config;

import java.io.Serial;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.ConfigurableApplicationContext;

/**
 * The check that other machines reach no port without keys and TLS. It runs before the application
 * creates any bean, so that it refuses the start before an engine runs or a port is open, and its
 * line is the first one of the log.
 */
final class BindCheck implements ApplicationContextInitializer<ConfigurableApplicationContext> {
  private static final Logger LOG = LoggerFactory.getLogger(BindCheck.class);

  @Override
  public void initialize(ConfigurableApplicationContext context) {
    var bind = BindAddresses.of(context.getEnvironment());
    if (!bind.isExposed()) {
      LOG.info(
          "listening on {}{}",
          String.join(", ", bind.addresses()),
          BindAddresses.hasKeys(context.getEnvironment())
              ? ""
              : " only, without keys: every process of this machine may send and read logs; for"
                  + " other machines see sluice.bind");
    } else if (bind.insecure()) {
      LOG.warn("{}", InsecureBindReminder.describe(bind));
    } else {
      throw new UnsafeBindException(bind);
    }
  }

  /** Thrown when other machines would reach a port without keys or TLS. */
  static final class UnsafeBindException extends RuntimeException {
    @Serial private static final long serialVersionUID = 1L;

    UnsafeBindException(BindAddresses bind) {
      super(
          "Other machines could read and write all logs: "
              + String.join("; ", bind.exposures())
              + ".");
    }
  }

  /** Reports the exception with a remedy, without a stack trace. */
  static final class UnsafeBindFailureAnalyzer
      extends AbstractFailureAnalyzer<UnsafeBindException> {
    @Override
    protected FailureAnalysis analyze(Throwable rootFailure, UnsafeBindException cause) {
      return new FailureAnalysis(
          String.valueOf(cause.getMessage()),
          "Set keys and TLS as docs/configuration.md describes, or listen on loopback only:"
              + " sluice.bind=127.0.0.1, the default. Only where another layer protects the ports:"
              + " sluice.security.insecure=true.",
          cause);
    }
  }
}
