package dev.sluice.query.read;

import dev.sluice.core.security.ClientNetwork;
import java.net.InetAddress;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;

/**
 * The client for which the current thread queries, which {@link ConcurrencyLimitedReader} uses to
 * share the store among clients. Queries outside of {@link #call} belong to one unnamed client.
 */
public final class QueryClient {
  private static final ScopedValue<String> CURRENT = ScopedValue.newInstance();

  private QueryClient() {}

  /** Returns the name of the current client. */
  public static String current() {
    return CURRENT.orElse("");
  }

  /**
   * Returns the name of a client.
   *
   * @param tenant the tenant whose logs the client reads
   * @param address the address of the client; null when it is unknown
   */
  public static String name(String tenant, @Nullable InetAddress address) {
    return address == null
        ? tenant
        : tenant + " " + ClientNetwork.of(address).address().getHostAddress();
  }

  /** Runs a task with queries for this client on the current thread. */
  public static void run(String client, Runnable task) {
    ScopedValue.where(CURRENT, client).run(task);
  }

  /** Runs a query for this client on the current thread. */
  public static <T> T call(String client, Callable<T> query) throws Exception {
    return ScopedValue.where(CURRENT, client).call(query::call);
  }
}
