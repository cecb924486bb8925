-- The dictionary: a row for each text of a tenant, once parts are merged. Everybody writes without
-- reading, so what a row says must be the same in whatever order rows are merged; and before they
-- are, an id may have several rows: GROUP BY it, or read with FINAL.
-- No TTL: a row must outlive the rows that were merged into it.
-- Granules are small, since an id is looked for by itself and texts may be long.
CREATE TABLE IF NOT EXISTS log_templates (
  Tenant LowCardinality(String) CODEC(ZSTD(1)),
  TemplateId UUID CODEC(NONE),
  Text SimpleAggregateFunction(any, String) CODEC(ZSTD(1)),
  FirstSeen SimpleAggregateFunction(min, DateTime64(9)) CODEC(ZSTD(1)),
  LastSeen SimpleAggregateFunction(max, DateTime64(9)) CODEC(ZSTD(1)),
  -- the zero UUID where there is no link: it is the least, so that max prefers any link
  MergedInto SimpleAggregateFunction(max, UUID) CODEC(ZSTD(1)),
  WrittenAt SimpleAggregateFunction(max, DateTime64(9)) DEFAULT now64(9) CODEC(ZSTD(1)),
  INDEX idx_written WrittenAt TYPE minmax GRANULARITY 1
)
ENGINE = AggregatingMergeTree
ORDER BY (Tenant, TemplateId)
SETTINGS index_granularity = 256;

CREATE TABLE IF NOT EXISTS log_texts (
  Tenant LowCardinality(String) CODEC(ZSTD(1)),
  Kind LowCardinality(String) CODEC(ZSTD(1)),
  TextId UUID CODEC(NONE),
  Text SimpleAggregateFunction(any, String) CODEC(ZSTD(1)),
  FirstSeen SimpleAggregateFunction(min, DateTime64(9)) CODEC(ZSTD(1)),
  LastSeen SimpleAggregateFunction(max, DateTime64(9)) CODEC(ZSTD(1)),
  MergedInto SimpleAggregateFunction(max, UUID) CODEC(ZSTD(1)),
  WrittenAt SimpleAggregateFunction(max, DateTime64(9)) DEFAULT now64(9) CODEC(ZSTD(1)),
  INDEX idx_written WrittenAt TYPE minmax GRANULARITY 1
)
ENGINE = AggregatingMergeTree
ORDER BY (Tenant, Kind, TextId)
SETTINGS index_granularity = 256;

-- How often a template came, by the minute of the logs' own time. The window is that of otel_logs:
-- what ClickHouse leaves out there for its token, it leaves out here.
-- Minute is a DateTime64 because a DateTime ends in 2106.
-- Granules are small, since a search asks for a few templates, which have an hour in sixty rows.
CREATE TABLE IF NOT EXISTS log_template_counts (
  Tenant LowCardinality(String) CODEC(ZSTD(1)),
  ServiceName LowCardinality(String) CODEC(ZSTD(1)),
  TemplateId UUID CODEC(ZSTD(1)),
  SeverityNumber UInt8 CODEC(ZSTD(1)),
  Minute DateTime64(0) CODEC(Delta(8), ZSTD(1)),
  Logs UInt64 CODEC(ZSTD(1))
)
ENGINE = SummingMergeTree(Logs)
PARTITION BY toYYYYMM(Minute)
ORDER BY (Tenant, ServiceName, TemplateId, SeverityNumber, Minute)
SETTINGS index_granularity = 256, non_replicated_deduplication_window = 1000;

CREATE MATERIALIZED VIEW IF NOT EXISTS log_template_counts_view TO log_template_counts AS
SELECT
  Tenant,
  ServiceName,
  TemplateId,
  SeverityNumber,
  toDateTime64(intDiv(toUnixTimestamp64Nano(Timestamp), 60000000000) * 60, 0) AS Minute,
  count() AS Logs
FROM otel_logs
WHERE notEmpty(TemplateId)
GROUP BY Tenant, ServiceName, TemplateId, SeverityNumber, Minute;
