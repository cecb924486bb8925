package dev.sluice.api.config;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.ConfigurationPropertiesScan;

/** The gateway, with the roles ingest, deliver or both, selected by {@code sluice.roles}. */
@SpringBootApplication(proxyBeanMethods = false)
@ConfigurationPropertiesScan
public class GatewayApplication {

  public static void main(String[] args) {
    FileCreationMask.setOwnerOnly();
    SpringApplication.run(GatewayApplication.class, args);
  }
}
