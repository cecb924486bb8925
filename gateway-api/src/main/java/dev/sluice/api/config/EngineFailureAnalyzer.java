package dev.sluice.api.config;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Reports an engine that does not start by its message, without a stack trace. */
final class EngineFailureAnalyzer extends AbstractFailureAnalyzer<EngineUnavailableException> {
  @Override
  protected FailureAnalysis analyze(Throwable rootFailure, EngineUnavailableException cause) {
    return new FailureAnalysis(String.valueOf(cause.getMessage()), null, cause);
  }
}
