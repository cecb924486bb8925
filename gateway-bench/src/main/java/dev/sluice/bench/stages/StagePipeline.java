package dev.sluice.bench.stages;

import java.util.concurrent.CompletionStage;

/** The path of a request into the table in one stage. */
@FunctionalInterface
interface StagePipeline {

  /**
   * Submits the rows of a request. The completion of the result is the success response of the
   * request. Called from any thread; does not block.
   */
  CompletionStage<?> submit(Rows rows);
}
