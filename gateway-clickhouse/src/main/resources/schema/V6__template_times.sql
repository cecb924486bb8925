-- The first and the last minute of each template, by event time. Nearly every response about
-- templates needs these; otherwise it would read the counts of all minutes. The view reads the
-- counts and not the logs, so that its rows are aggregated already and few.
CREATE TABLE IF NOT EXISTS log_template_times (
  Tenant LowCardinality(String) CODEC(ZSTD(1)),
  TemplateId UUID CODEC(NONE),
  ServiceName LowCardinality(String) CODEC(ZSTD(1)),
  FirstMinute SimpleAggregateFunction(min, DateTime64(0)) CODEC(ZSTD(1)),
  LastMinute SimpleAggregateFunction(max, DateTime64(0)) CODEC(ZSTD(1))
)
ENGINE = AggregatingMergeTree
ORDER BY (Tenant, TemplateId, ServiceName)
SETTINGS index_granularity = 256;

CREATE MATERIALIZED VIEW IF NOT EXISTS log_template_times_view TO log_template_times AS
SELECT Tenant, TemplateId, ServiceName, min(Minute) AS FirstMinute, max(Minute) AS LastMinute
FROM log_template_counts
GROUP BY Tenant, TemplateId, ServiceName;

-- Adds the counts from before the view. Rows that the view has added as well do no harm.
INSERT INTO log_template_times
SELECT Tenant, TemplateId, ServiceName, min(Minute), max(Minute)
FROM log_template_counts
GROUP BY Tenant, TemplateId, ServiceName;
