package dev.sluice.api.tls;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.api.TlsCertificates;
import java.nio.file.Path;
import java.util.Arrays;
import javax.net.ssl.X509ExtendedKeyManager;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslBundleKey;
import org.springframework.boot.ssl.SslOptions;
import org.springframework.boot.ssl.jks.JksSslStoreBundle;
import org.springframework.boot.ssl.jks.JksSslStoreDetails;

class StrictSslBundlesTest {
  private static final String CBC = "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256";
  private static final String GCM = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256";

  @TempDir private static Path folder;

  private static Path first = Path.of("");
  private static Path second = Path.of("");

  private final StrictSslBundles bundles = new StrictSslBundles();

  @BeforeAll
  static void createCertificates() throws Exception {
    first = TlsCertificates.create(folder.resolve("first.p12"));
    second = TlsCertificates.create(folder.resolve("second.p12"));
  }

  private static SslBundle bundle(Path store, SslOptions options) {
    var details =
        JksSslStoreDetails.forLocation(store.toUri().toString())
            .withPassword(TlsCertificates.PASSWORD);
    return SslBundle.of(new JksSslStoreBundle(details, null), SslBundleKey.NONE, options);
  }

  private static SslOptions options(String @Nullable [] ciphers, String @Nullable [] protocols) {
    return SslOptions.of(ciphers, protocols);
  }

  private X509ExtendedKeyManager keys() {
    return (X509ExtendedKeyManager) bundles.getBundle("gateway").getManagers().getKeyManagers()[0];
  }

  private static String alias(X509ExtendedKeyManager keys) {
    var aliases = keys.getServerAliases("EC", null);
    assertThat(aliases).hasSize(1);
    return aliases[0];
  }

  @Test
  void options_notConfigured_areSafe() {
    bundles.registerBundle("gateway", bundle(first, SslOptions.NONE));

    var options = bundles.getBundle("gateway").getOptions();

    assertThat(options.getEnabledProtocols()).containsExactly("TLSv1.3", "TLSv1.2");
    assertThat(options.getCiphers())
        .isNotEmpty()
        .allMatch(suite -> suite.contains("GCM") || suite.contains("CHACHA20"));
  }

  @Test
  void options_configured_canOnlyRestrict() {
    bundles.registerBundle(
        "gateway",
        bundle(
            first, options(new String[] {CBC, GCM}, new String[] {"TLSv1", "TLSv1.1", "TLSv1.2"})));

    var options = bundles.getBundle("gateway").getOptions();

    assertThat(options.getEnabledProtocols()).containsExactly("TLSv1.2");
    assertThat(options.getCiphers()).containsExactly(GCM);
  }

  @Test
  void options_nothingSafeConfigured_isAnError() {
    assertThatThrownBy(
            () ->
                bundles.registerBundle("gateway", bundle(first, options(new String[] {CBC}, null))))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("SSL bundle gateway has no allowed cipher suite");
  }

  /** A handshake selects an alias first, and gets its key and certificates later. */
  @Test
  void update_duringAHandshake_keyAndCertificateAreOfOneGeneration() throws Exception {
    bundles.registerBundle("gateway", bundle(first, SslOptions.NONE));
    var keys = keys();
    var before = alias(keys);
    var key = keys.getPrivateKey(before);

    bundles.updateBundle("gateway", bundle(second, SslOptions.NONE));

    assertThat(keys.getCertificateChain(before)).containsExactly(TlsCertificates.of(first));
    assertThat(keys.getPrivateKey(before)).isEqualTo(key);
    var after = alias(keys);
    assertThat(keys.getCertificateChain(after)).containsExactly(TlsCertificates.of(second));
    assertThat(keys.getPrivateKey(after)).isNotEqualTo(key);
  }

  @Test
  void update_unusable_keepsTheOldCertificate() throws Exception {
    bundles.registerBundle("gateway", bundle(first, SslOptions.NONE));
    var keys = keys();
    var unusable = bundle(folder.resolve("missing.p12"), SslOptions.NONE);

    assertThatThrownBy(() -> bundles.updateBundle("gateway", unusable))
        .isInstanceOf(RuntimeException.class);

    assertThat(keys.getCertificateChain(alias(keys))).containsExactly(TlsCertificates.of(first));
    assertThat(Arrays.asList(bundles.getBundle("gateway").getManagers().getKeyManagers()))
        .containsExactly(keys);
  }
}
