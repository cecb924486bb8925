package dev.sluice.api.tls;

import io.netty.handler.ssl.util.KeyManagerFactoryWrapper;
import io.netty.handler.ssl.util.TrustManagerFactoryWrapper;
import java.util.Arrays;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedKeyManager;
import javax.net.ssl.X509ExtendedTrustManager;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.ssl.SslManagerBundle;

/**
 * The key and trust managers of a bundle, whose keys and certificates can be replaced while servers
 * use them. Thread-safe.
 */
final class ReloadingManagers implements SslManagerBundle {
  private volatile SslManagerBundle bundle;
  private volatile @Nullable ReloadingKeys keys;
  private volatile @Nullable ReloadingTrust trust;

  ReloadingManagers(SslManagerBundle bundle) {
    this.bundle = bundle;
  }

  /** Replaces keys and certificates. When the new ones are unusable, the old ones stay. */
  synchronized void replace(SslManagerBundle renewed) {
    var newKeys = keys == null ? null : keyManager(renewed);
    var newTrust = trust == null ? null : trustManager(renewed);
    bundle = renewed;
    if (keys != null && newKeys != null) {
      keys.replace(newKeys);
    }
    if (trust != null && newTrust != null) {
      trust.replace(newTrust);
    }
  }

  @Override
  public synchronized KeyManagerFactory getKeyManagerFactory() {
    if (keys == null) {
      keys = new ReloadingKeys(keyManager(bundle));
    }
    return new KeyManagerFactoryWrapper(keys);
  }

  @Override
  public synchronized TrustManagerFactory getTrustManagerFactory() {
    if (trust == null) {
      trust = new ReloadingTrust(trustManager(bundle));
    }
    return new TrustManagerFactoryWrapper(trust);
  }

  private static X509ExtendedKeyManager keyManager(SslManagerBundle bundle) {
    return find(bundle.getKeyManagers(), X509ExtendedKeyManager.class);
  }

  private static X509ExtendedTrustManager trustManager(SslManagerBundle bundle) {
    return find(bundle.getTrustManagers(), X509ExtendedTrustManager.class);
  }

  private static <T> T find(Object[] managers, Class<T> type) {
    return Arrays.stream(managers)
        .filter(type::isInstance)
        .map(type::cast)
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("SSL bundle has no " + type.getName()));
  }
}
