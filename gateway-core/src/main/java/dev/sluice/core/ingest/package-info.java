/**
 * Ingest: validates records, merges requests to batches and appends them to the spool. {@link
 * IngestService} is the entry type; {@link AdmissionController} and {@link MemoryBudget} limit the
 * load. Decoders and receivers use it; a request ends as an {@link IngestResult}.
 */
@NullMarked
package dev.sluice.core.ingest;

import org.jspecify.annotations.NullMarked;
