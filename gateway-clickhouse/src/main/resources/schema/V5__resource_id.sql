-- The id of the attribute set of the resource, whose text is in log_texts with Kind RESOURCE; the
-- zero UUID for none, and in all rows that are older than this column. A row still has the
-- attributes themselves, since tools that read the table of the Collector expect these.
ALTER TABLE otel_logs ADD COLUMN IF NOT EXISTS ResourceId UUID CODEC(ZSTD(1));
