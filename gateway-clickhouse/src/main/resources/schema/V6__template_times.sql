-- When each template first and last came, by the logs' own time: asked for with every answer about
-- templates, for which the counts of all minutes would have to be read.
-- A view of the counts, so that it sees what is counted already and costs next to nothing.
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

-- What was counted before. That the view may have seen some of it makes no difference.
INSERT INTO log_template_times
SELECT Tenant, TemplateId, ServiceName, min(Minute), max(Minute)
FROM log_template_counts
GROUP BY Tenant, TemplateId, ServiceName;
