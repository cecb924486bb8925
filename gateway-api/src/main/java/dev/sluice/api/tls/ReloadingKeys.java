package dev.sluice.api.tls;

import java.net.Socket;
import java.security.Principal;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.util.Arrays;
import java.util.function.BiFunction;
import java.util.function.Function;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.X509ExtendedKeyManager;
import org.jspecify.annotations.Nullable;

/**
 * A key manager whose keys can be replaced. A handshake first selects an alias, and then gets the
 * key and the certificates of the alias; the alias contains a generation, so that both are of the
 * same one when a replacement comes between.
 */
final class ReloadingKeys extends X509ExtendedKeyManager {
  private volatile Generations generations;

  private record Generation(long number, X509ExtendedKeyManager keys) {}

  private record Generations(Generation current, Generation previous) {}

  ReloadingKeys(X509ExtendedKeyManager keys) {
    var first = new Generation(0, keys);
    this.generations = new Generations(first, first);
  }

  synchronized void replace(X509ExtendedKeyManager keys) {
    var current = generations.current();
    generations = new Generations(new Generation(current.number() + 1, keys), current);
  }

  private @Nullable String choose(Function<X509ExtendedKeyManager, @Nullable String> choice) {
    var generation = generations.current();
    var alias = choice.apply(generation.keys());
    return alias == null ? null : generation.number() + ":" + alias;
  }

  private String @Nullable [] list(Function<X509ExtendedKeyManager, String @Nullable []> listing) {
    var generation = generations.current();
    var aliases = listing.apply(generation.keys());
    return aliases == null
        ? null
        : Arrays.stream(aliases)
            .map(alias -> generation.number() + ":" + alias)
            .toArray(String[]::new);
  }

  private <T> @Nullable T lookUp(
      @Nullable String alias, BiFunction<X509ExtendedKeyManager, String, @Nullable T> lookup) {
    if (alias == null) {
      return null;
    }
    int separator = alias.indexOf(':');
    var all = generations;
    boolean current =
        alias.substring(0, Math.max(0, separator)).equals(Long.toString(all.current().number()));
    return lookup.apply(
        (current ? all.current() : all.previous()).keys(), alias.substring(separator + 1));
  }

  @Override
  public @Nullable String chooseEngineServerAlias(
      String keyType, Principal @Nullable [] issuers, SSLEngine engine) {
    return choose(keys -> keys.chooseEngineServerAlias(keyType, issuers, engine));
  }

  @Override
  public @Nullable String chooseEngineClientAlias(
      String[] keyTypes, Principal @Nullable [] issuers, SSLEngine engine) {
    return choose(keys -> keys.chooseEngineClientAlias(keyTypes, issuers, engine));
  }

  @Override
  public @Nullable String chooseServerAlias(
      String keyType, Principal @Nullable [] issuers, Socket socket) {
    return choose(keys -> keys.chooseServerAlias(keyType, issuers, socket));
  }

  @Override
  public @Nullable String chooseClientAlias(
      String[] keyTypes, Principal @Nullable [] issuers, Socket socket) {
    return choose(keys -> keys.chooseClientAlias(keyTypes, issuers, socket));
  }

  @Override
  public String @Nullable [] getServerAliases(String keyType, Principal @Nullable [] issuers) {
    return list(keys -> keys.getServerAliases(keyType, issuers));
  }

  @Override
  public String @Nullable [] getClientAliases(String keyType, Principal @Nullable [] issuers) {
    return list(keys -> keys.getClientAliases(keyType, issuers));
  }

  @Override
  public X509Certificate @Nullable [] getCertificateChain(String alias) {
    return lookUp(alias, X509ExtendedKeyManager::getCertificateChain);
  }

  @Override
  public @Nullable PrivateKey getPrivateKey(String alias) {
    return lookUp(alias, X509ExtendedKeyManager::getPrivateKey);
  }
}
