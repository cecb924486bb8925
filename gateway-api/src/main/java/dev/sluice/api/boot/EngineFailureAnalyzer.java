package dev.sluice.api.boot;

import dev.sluice.engines.EngineStartException;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** An engine that does not start ends the gateway with its one sentence instead of a stack. */
final class EngineFailureAnalyzer extends AbstractFailureAnalyzer<EngineStartException> {
  @Override
  protected FailureAnalysis analyze(Throwable rootFailure, EngineStartException cause) {
    return new FailureAnalysis(String.valueOf(cause.getMessage()), null, cause);
  }
}
