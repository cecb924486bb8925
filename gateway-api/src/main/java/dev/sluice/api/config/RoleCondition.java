package dev.sluice.api.config;

import dev.sluice.api.config.SluiceProperties.Role;
import java.util.Set;
import org.springframework.boot.autoconfigure.condition.AnyNestedCondition;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.Condition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotatedTypeMetadata;

/** A condition that {@code sluice.roles} contains a role. The default is both roles. */
abstract class RoleCondition implements Condition {
  private final Role role;

  RoleCondition(Role role) {
    this.role = role;
  }

  @Override
  public boolean matches(ConditionContext context, AnnotatedTypeMetadata metadata) {
    return hasRole(context.getEnvironment(), role);
  }

  static boolean hasRole(Environment environment, Role role) {
    return Binder.get(environment)
        .bind("sluice.roles", Bindable.setOf(Role.class))
        .orElse(Set.of(Role.values()))
        .contains(role);
  }

  static final class IngestRole extends RoleCondition {
    IngestRole() {
      super(Role.INGEST);
    }
  }

  static final class DeliverRole extends RoleCondition {
    DeliverRole() {
      super(Role.DELIVER);
    }
  }

  /** The role deliver, or a write-ahead log as fallback, which no other process can deliver. */
  static final class DeliveryCondition extends AnyNestedCondition {
    DeliveryCondition() {
      super(ConfigurationPhase.REGISTER_BEAN);
    }

    @Conditional(DeliverRole.class)
    static final class ByRole {}

    @ConditionalOnProperty(
        name = "sluice.spool",
        havingValue = "redis-then-wal",
        matchIfMissing = true)
    static final class ByFallback {}
  }
}
