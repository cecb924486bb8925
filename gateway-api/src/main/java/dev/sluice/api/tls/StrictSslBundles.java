package dev.sluice.api.tls;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.ssl.DefaultSslBundleRegistry;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslOptions;

/**
 * The SSL bundles of all ports, restricted to TLS 1.2 and 1.3 with forward secrecy and
 * authenticated encryption. The settings of a bundle can restrict them further. The managers of a
 * bundle follow its renewals, also in a server that does not know of them, such as that of gRPC.
 *
 * <p>Thread-safe.
 */
public final class StrictSslBundles extends DefaultSslBundleRegistry {
  private static final List<String> PROTOCOLS = List.of("TLSv1.3", "TLSv1.2");
  private static final List<String> CIPHERS =
      List.of(
          "TLS_AES_256_GCM_SHA384",
          "TLS_AES_128_GCM_SHA256",
          "TLS_CHACHA20_POLY1305_SHA256",
          "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
          "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
          "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
          "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
          "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
          "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256");

  private final Map<String, ReloadingManagers> managers = new ConcurrentHashMap<>();

  @Override
  public void registerBundle(String name, SslBundle bundle) {
    var reloading = new ReloadingManagers(bundle.getManagers());
    managers.put(name, reloading);
    super.registerBundle(name, restrict(name, bundle, reloading));
  }

  /** Replaces a bundle. When the new one is unusable, this throws, and the old one stays. */
  @Override
  public void updateBundle(String name, SslBundle bundle) {
    var reloading = Objects.requireNonNull(managers.get(name));
    var restricted = restrict(name, bundle, reloading);
    reloading.replace(bundle.getManagers());
    super.updateBundle(name, restricted);
  }

  private static SslBundle restrict(String name, SslBundle bundle, ReloadingManagers managers) {
    var options = bundle.getOptions();
    return SslBundle.of(
        bundle.getStores(),
        bundle.getKey(),
        SslOptions.of(
            restrict(name, "cipher suite", CIPHERS, options.getCiphers()),
            restrict(name, "protocol", PROTOCOLS, options.getEnabledProtocols())),
        bundle.getProtocol(),
        managers);
  }

  private static String[] restrict(
      String bundle, String what, List<String> allowed, String @Nullable [] configured) {
    var selected =
        configured == null
            ? allowed
            : allowed.stream().filter(Arrays.asList(configured)::contains).toList();
    if (selected.isEmpty()) {
      throw new IllegalArgumentException(
          "SSL bundle %s has no allowed %s; allowed are %s".formatted(bundle, what, allowed));
    }
    return selected.toArray(String[]::new);
  }
}
