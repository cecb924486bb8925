-- The newest log of each template by service and severity, which a search shows. To find it among
-- the logs takes a scan of a minute, which has millions of rows at full rate (ADR 0030). The body
-- has only the part that a search shows. Logs from before this table are searched among the logs.
CREATE TABLE IF NOT EXISTS log_template_newest (
  Tenant LowCardinality(String) CODEC(ZSTD(1)),
  TemplateId UUID CODEC(NONE),
  ServiceName LowCardinality(String) CODEC(ZSTD(1)),
  SeverityNumber UInt8 CODEC(ZSTD(1)),
  Timestamp DateTime64(9) CODEC(ZSTD(1)),
  Id FixedString(16) CODEC(ZSTD(1)),
  Body String CODEC(ZSTD(1)),
  -- For the retention; the receive time of the log itself would be one more value per row.
  WrittenAt DateTime64(3) DEFAULT now64(3) CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(Timestamp)
ORDER BY (Tenant, TemplateId, ServiceName, SeverityNumber)
SETTINGS index_granularity = 256;

-- Keys of fixed size, as in the view of the counts (V7).
CREATE MATERIALIZED VIEW IF NOT EXISTS log_template_newest_view TO log_template_newest AS
SELECT
  any(Tenant) AS Tenant,
  TemplateId,
  any(ServiceName) AS ServiceName,
  SeverityNumber,
  max(time) AS Timestamp,
  argMax(Id, time) AS Id,
  substringUTF8(argMax(Body, time), 1, 4000) AS Body
FROM (
  SELECT
    Tenant,
    TemplateId,
    ServiceName,
    SeverityNumber,
    Timestamp AS time,
    Id,
    Body,
    bitXor(halfMD5(Tenant), bitRotateLeft(halfMD5(ServiceName), 1)) AS service
  FROM otel_logs
  WHERE notEmpty(TemplateId)
)
GROUP BY TemplateId, SeverityNumber, service;
