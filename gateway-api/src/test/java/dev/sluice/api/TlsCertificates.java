package dev.sluice.api;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.X509Certificate;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;

/** Key stores with one self-signed certificate for localhost. */
public final class TlsCertificates {
  public static final String PASSWORD = "changeit";

  private TlsCertificates() {}

  /** Creates a certificate with keytool, since the JDK has no API for it. */
  public static Path create(Path store) throws IOException, InterruptedException {
    var keytool =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair",
                "-alias",
                "gateway",
                "-keyalg",
                "EC",
                "-dname",
                "CN=gateway",
                "-ext",
                "san=dns:localhost,ip:127.0.0.1",
                "-storetype",
                "PKCS12",
                "-keystore",
                store.toString(),
                "-storepass",
                PASSWORD)
            .redirectErrorStream(true)
            .redirectOutput(store.resolveSibling("keytool.log").toFile())
            .start();
    assertThat(keytool.waitFor()).isZero();
    return store;
  }

  public static X509Certificate of(Path store) throws Exception {
    var own = KeyStore.getInstance(store.toFile(), PASSWORD.toCharArray());
    return (X509Certificate) own.getCertificate("gateway");
  }

  /** Returns trust in the certificates of these key stores and no others. */
  public static TrustManager[] trusting(Path... stores) throws Exception {
    var trusted = KeyStore.getInstance("PKCS12");
    trusted.load(null, null);
    for (int i = 0; i < stores.length; i++) {
      trusted.setCertificateEntry("gateway-" + i, of(stores[i]));
    }
    var factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    factory.init(trusted);
    return factory.getTrustManagers();
  }
}
