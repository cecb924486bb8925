package dev.sluice.api.config;

import org.springframework.context.ApplicationContext;

/** Test access to the bound port of the OTLP/HTTP server. */
public final class OtlpPort {
  private OtlpPort() {}

  public static int of(ApplicationContext application) {
    return application.getBean(ProtocolServers.class).ports().getFirst();
  }
}
