package dev.sluice.redaction;

import dev.sluice.core.otlp.ValueReplacer;
import dev.sluice.core.port.Redactor;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Redacts logs by the rules of a file. Thread-safe. */
public final class LogRedactor implements Redactor {
  /** Tenants whose rules are kept ready; above that, they are put together for each request. */
  private static final int MAX_TENANTS = 10_000;

  /**
   * The rules in use.
   *
   * @param byTenant the rules of the tenants that have sent logs
   */
  private record LoadedRules(RedactionFile file, Map<String, RedactionRules> byTenant) {
    static LoadedRules of(RedactionFile file) {
      return new LoadedRules(file, new ConcurrentHashMap<>());
    }
  }

  private final Supplier<RedactionFile> source;
  private final Consumer<String> onHit;
  private volatile LoadedRules loaded;

  /**
   * Creates the redactor.
   *
   * @param source the current file, asked for each request; must not block
   * @param onHit called with the name of the rule for each value that is replaced; thread-safe
   */
  public LogRedactor(Supplier<RedactionFile> source, Consumer<String> onHit) {
    this.source = source;
    this.onHit = onHit;
    this.loaded = LoadedRules.of(source.get());
  }

  @Override
  public byte @Nullable [] redact(String tenant, byte[] otlp, int length) {
    var rules = rules(tenant);
    return rules.isEmpty() ? null : ValueReplacer.replace(otlp, length, rules);
  }

  @SuppressWarnings("ReferenceEquality") // each reload makes a new file
  private RedactionRules rules(String tenant) {
    var file = source.get();
    var current = loaded;
    if (current.file() != file) {
      current = LoadedRules.of(file);
      loaded = current;
    }
    var rules = current.byTenant().get(tenant);
    if (rules == null) {
      rules = RedactionRules.of(file, tenant, onHit);
      if (current.byTenant().size() < MAX_TENANTS) {
        current.byTenant().put(tenant, rules);
      }
    }
    return rules;
  }
}
