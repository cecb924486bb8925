package dev.sluice.api.boot;

import org.springframework.context.ApplicationContext;

/** Tells tests the port that nothing else has to know. */
public final class OtlpPort {
  private OtlpPort() {}

  public static int of(ApplicationContext application) {
    return application.getBean(OtlpHttpServer.class).port();
  }
}
