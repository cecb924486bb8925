/**
 * Ingest: decodes requests, validates records, merges requests to batches and appends them to the
 * spool. {@link IngestPipeline} is the entry type for all protocols; {@link AdmissionController}
 * and {@link MemoryBudget} limit the load. A request has one {@link RequestContext} and ends as an
 * {@link IngestResult}.
 */
@NullMarked
package dev.sluice.core.ingest;

import org.jspecify.annotations.NullMarked;
