package dev.sluice.bench.stages;

import java.util.concurrent.CompletionStage;

/** From a request to the table, by one stage. */
@FunctionalInterface
interface StagePipeline {

  /** Its end is the request's answer of success; called from any thread, and blocks none. */
  CompletionStage<?> submit(Rows rows);
}
