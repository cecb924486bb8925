-- The dictionary: one row for each text of a tenant after merges. Gateways write without reading,
-- so that the result must not depend on the order in which rows merge. Before a merge, an id may
-- have several rows: use GROUP BY the id, or FINAL. No TTL: a row must outlive the rows that merged
-- into it. Granules are small, since lookups are by single ids and texts may be long.
CREATE TABLE IF NOT EXISTS log_templates (
  Tenant LowCardinality(String) CODEC(ZSTD(1)),
  TemplateId UUID CODEC(NONE),
  Text SimpleAggregateFunction(any, String) CODEC(ZSTD(1)),
  FirstSeen SimpleAggregateFunction(min, DateTime64(9)) CODEC(ZSTD(1)),
  LastSeen SimpleAggregateFunction(max, DateTime64(9)) CODEC(ZSTD(1)),
  -- The zero UUID means no link: it is the least UUID, so that max prefers any link.
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

-- The number of logs of each template by minute of event time. The deduplication window is that of
-- otel_logs: a repeated token is skipped in both tables. Minute is a DateTime64, since a DateTime
-- ends in 2106. Granules are small, since a search reads a few templates, each with sixty rows for
-- an hour.
CREATE TABLE IF NOT EXISTS log_template_counts (
  Tenant LowCardinality(String) CODEC(ZSTD(1)),
  ServiceName LowCardinality(String) CODEC(ZSTD(1)),
  TemplateId UUID CODEC(ZSTD(1)),
  SeverityNumber UInt8 CODEC(ZSTD(1)),
  Minute DateTime64(0) CODEC(Delta(8), ZSTD(1)),
  Logs UInt64 CODEC(ZSTD(1)),
  ReceivedDate Date DEFAULT toDate(Minute) CODEC(ZSTD(1))
)
ENGINE = SummingMergeTree(Logs)
-- By receive time, as otel_logs: the month of the event time would be up to 2,700 partitions.
PARTITION BY (toYYYYMM(ReceivedDate), abs(dateDiff('day', ReceivedDate, Minute)) > 1)
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
