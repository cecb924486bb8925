package dev.sluice.api.config;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import org.springframework.core.env.Environment;
import org.springframework.util.StringUtils;

/**
 * The addresses that the ports listen on, and the ports that clients on other machines reach
 * without keys and TLS.
 *
 * @param addresses the distinct addresses, in the order HTTP, management, gRPC
 * @param exposures one sentence for each reason why other machines must not reach a port; empty
 *     when all ports are safe
 * @param insecure whether {@code sluice.security.insecure} is set
 */
record BindAddresses(List<String> addresses, List<String> exposures, boolean insecure) {
  private static final String KEYS_FILE = "sluice.security.keys-file";
  private static final String INSECURE = "sluice.security.insecure";

  private static final String HTTP = "server";
  private static final String MANAGEMENT = "management.server";
  private static final String GRPC = "spring.grpc.server";

  /** Reads the settings of Spring Boot, which have the default {@code sluice.bind}. */
  static BindAddresses of(Environment settings) {
    var addresses = new ArrayList<String>();
    var withoutTls = new ArrayList<String>();
    boolean exposed = false;
    for (var port : List.of(HTTP, MANAGEMENT, GRPC)) {
      if (isDisabled(port, settings)) {
        continue;
      }
      var address = settings.getProperty(port + ".address", "0.0.0.0");
      if (!addresses.contains(address)) {
        addresses.add(address);
      }
      if (!isLoopback(address)) {
        exposed = true;
        if (!hasTls(port, settings)) {
          withoutTls.add(
              "%s.address is %s, and the port has no TLS: set %s.ssl.bundle"
                  .formatted(port, address, port));
        }
      }
    }
    var exposures = new ArrayList<String>();
    if (exposed && !hasKeys(settings)) {
      exposures.add("there are no keys: set " + KEYS_FILE);
    }
    exposures.addAll(withoutTls);
    return new BindAddresses(
        List.copyOf(addresses),
        List.copyOf(exposures),
        settings.getProperty(INSECURE, Boolean.class, false));
  }

  /** Whether clients need a credential. */
  static boolean hasKeys(Environment settings) {
    return StringUtils.hasText(settings.getProperty(KEYS_FILE));
  }

  boolean isExposed() {
    return !exposures.isEmpty();
  }

  private static boolean isDisabled(String port, Environment settings) {
    return switch (port) {
      case MANAGEMENT -> settings.getProperty(MANAGEMENT + ".port", Integer.class, 0) < 0;
      case GRPC -> !settings.getProperty(GRPC + ".enabled", Boolean.class, true);
      default -> false;
    };
  }

  private static boolean isLoopback(String address) {
    try {
      return InetAddress.getByName(address).isLoopbackAddress();
    } catch (UnknownHostException _) {
      return false; // the server reports the address when it starts
    }
  }

  /** Whether the port has an SSL bundle; only bundles have safe versions and suites. */
  private static boolean hasTls(String port, Environment settings) {
    if (!settings.getProperty(port + ".ssl.enabled", Boolean.class, true)) {
      return false;
    }
    // the management server inherits the TLS settings of the main server
    return StringUtils.hasText(settings.getProperty(port + ".ssl.bundle"))
        || port.equals(MANAGEMENT) && hasTls(HTTP, settings);
  }
}
