-- Adds the columns that a table of the Collector lacks; has no effect on a table of V1. The receive
-- time of rows that the Collector wrote is their event time.
ALTER TABLE otel_logs
  ADD COLUMN IF NOT EXISTS ResourceSchemaUrl LowCardinality(String) CODEC(ZSTD(1)),
  ADD COLUMN IF NOT EXISTS ScopeSchemaUrl LowCardinality(String) CODEC(ZSTD(1)),
  ADD COLUMN IF NOT EXISTS ScopeName String CODEC(ZSTD(1)),
  ADD COLUMN IF NOT EXISTS ScopeVersion LowCardinality(String) CODEC(ZSTD(1)),
  ADD COLUMN IF NOT EXISTS ScopeAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
  ADD COLUMN IF NOT EXISTS EventName String CODEC(ZSTD(1)),
  ADD COLUMN IF NOT EXISTS Id FixedString(16) CODEC(ZSTD(1)),
  ADD COLUMN IF NOT EXISTS Tenant LowCardinality(String) DEFAULT 'default' CODEC(ZSTD(1)),
  ADD COLUMN IF NOT EXISTS TemplateId UUID CODEC(ZSTD(1)),
  ADD COLUMN IF NOT EXISTS ObservedTimestamp DateTime64(9) DEFAULT Timestamp CODEC(Delta(8), ZSTD(1)),
  ADD COLUMN IF NOT EXISTS ReceivedTimestamp DateTime64(9) DEFAULT Timestamp CODEC(Delta(8), ZSTD(1)),
  ADD COLUMN IF NOT EXISTS Flags UInt32 CODEC(ZSTD(1)),
  ADD COLUMN IF NOT EXISTS DroppedAttributesCount UInt32 CODEC(ZSTD(1));

ALTER TABLE otel_logs
  ADD INDEX IF NOT EXISTS idx_lower_body lower(Body) TYPE text(tokenizer = 'splitByNonAlpha'),
  ADD INDEX IF NOT EXISTS idx_id Id TYPE minmax GRANULARITY 1;

ALTER TABLE otel_logs MODIFY SETTING non_replicated_deduplication_window = 1000;
