-- The table of the OpenTelemetry Collector (second generation), followed by columns of Sluice.
-- Lines that end with BODY or COLLECTOR apply to that setting of indexes only.
CREATE TABLE IF NOT EXISTS otel_logs (
  Timestamp DateTime64(9) CODEC(Delta(8), ZSTD(1)),
  TraceId String CODEC(ZSTD(1)),
  SpanId String CODEC(ZSTD(1)),
  TraceFlags UInt8,
  SeverityText LowCardinality(String) CODEC(ZSTD(1)),
  SeverityNumber UInt8,
  ServiceName LowCardinality(String) CODEC(ZSTD(1)),
  Body String CODEC(ZSTD(1)),
  ResourceSchemaUrl LowCardinality(String) CODEC(ZSTD(1)),
  ResourceAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
  ScopeSchemaUrl LowCardinality(String) CODEC(ZSTD(1)),
  ScopeName String CODEC(ZSTD(1)),
  ScopeVersion LowCardinality(String) CODEC(ZSTD(1)),
  ScopeAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
  LogAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
  EventName String CODEC(ZSTD(1)),
  `__otel_materialized_k8s.cluster.name` LowCardinality(String) ALIAS ResourceAttributes['k8s.cluster.name'], -- BODY
  `__otel_materialized_k8s.container.name` LowCardinality(String) ALIAS ResourceAttributes['k8s.container.name'], -- BODY
  `__otel_materialized_k8s.deployment.name` LowCardinality(String) ALIAS ResourceAttributes['k8s.deployment.name'], -- BODY
  `__otel_materialized_k8s.namespace.name` LowCardinality(String) ALIAS ResourceAttributes['k8s.namespace.name'], -- BODY
  `__otel_materialized_k8s.node.name` LowCardinality(String) ALIAS ResourceAttributes['k8s.node.name'], -- BODY
  `__otel_materialized_k8s.pod.name` LowCardinality(String) ALIAS ResourceAttributes['k8s.pod.name'], -- BODY
  `__otel_materialized_k8s.pod.uid` LowCardinality(String) ALIAS ResourceAttributes['k8s.pod.uid'], -- BODY
  `__otel_materialized_deployment.environment.name` LowCardinality(String) ALIAS ResourceAttributes['deployment.environment.name'], -- BODY
  `__otel_materialized_k8s.cluster.name` LowCardinality(String) MATERIALIZED ResourceAttributes['k8s.cluster.name'] CODEC(ZSTD(1)), -- COLLECTOR
  `__otel_materialized_k8s.container.name` LowCardinality(String) MATERIALIZED ResourceAttributes['k8s.container.name'] CODEC(ZSTD(1)), -- COLLECTOR
  `__otel_materialized_k8s.deployment.name` LowCardinality(String) MATERIALIZED ResourceAttributes['k8s.deployment.name'] CODEC(ZSTD(1)), -- COLLECTOR
  `__otel_materialized_k8s.namespace.name` LowCardinality(String) MATERIALIZED ResourceAttributes['k8s.namespace.name'] CODEC(ZSTD(1)), -- COLLECTOR
  `__otel_materialized_k8s.node.name` LowCardinality(String) MATERIALIZED ResourceAttributes['k8s.node.name'] CODEC(ZSTD(1)), -- COLLECTOR
  `__otel_materialized_k8s.pod.name` LowCardinality(String) MATERIALIZED ResourceAttributes['k8s.pod.name'] CODEC(ZSTD(1)), -- COLLECTOR
  `__otel_materialized_k8s.pod.uid` LowCardinality(String) MATERIALIZED ResourceAttributes['k8s.pod.uid'] CODEC(ZSTD(1)), -- COLLECTOR
  `__otel_materialized_deployment.environment.name` LowCardinality(String) MATERIALIZED ResourceAttributes['deployment.environment.name'] CODEC(ZSTD(1)), -- COLLECTOR
  Id FixedString(16) CODEC(ZSTD(1)),
  Tenant LowCardinality(String) DEFAULT 'default' CODEC(ZSTD(1)),
  TemplateId UUID CODEC(ZSTD(1)),
  ObservedTimestamp DateTime64(9) DEFAULT Timestamp CODEC(Delta(8), ZSTD(1)),
  ReceivedTimestamp DateTime64(9) DEFAULT Timestamp CODEC(Delta(8), ZSTD(1)),
  Flags UInt32 CODEC(ZSTD(1)),
  DroppedAttributesCount UInt32 CODEC(ZSTD(1)),
  INDEX idx_trace_id TraceId TYPE bloom_filter(0.001) GRANULARITY 1, -- BODY
  INDEX idx_trace_id TraceId TYPE text(tokenizer = 'array'), -- COLLECTOR
  INDEX idx_res_attr_key mapKeys(ResourceAttributes) TYPE text(tokenizer = 'array'), -- COLLECTOR
  INDEX idx_res_attr_value mapValues(ResourceAttributes) TYPE text(tokenizer = 'array'), -- COLLECTOR
  INDEX idx_scope_attr_key mapKeys(ScopeAttributes) TYPE text(tokenizer = 'array'), -- COLLECTOR
  INDEX idx_scope_attr_value mapValues(ScopeAttributes) TYPE text(tokenizer = 'array'), -- COLLECTOR
  INDEX idx_log_attr_key mapKeys(LogAttributes) TYPE text(tokenizer = 'array'), -- COLLECTOR
  INDEX idx_log_attr_value mapValues(LogAttributes) TYPE text(tokenizer = 'array'), -- COLLECTOR
  INDEX idx_lower_body lower(Body) TYPE text(tokenizer = 'splitByNonAlpha'),
  INDEX idx_id Id TYPE minmax GRANULARITY 1
)
ENGINE = MergeTree
-- Not toDate(Timestamp), which is the key of the Collector and of tables that exist already: a
-- sender chooses the event time, and one request could create a part for each of 65,536 days. Rows
-- more than a day from their receive time have a partition of their own, so that the range of event
-- times of all other parts stays narrow. ClickHouse keeps that range, because the key has the column
-- (ADR 0058).
PARTITION BY (
  toDate(ReceivedTimestamp),
  abs(toUnixTimestamp64Nano(Timestamp) - toUnixTimestamp64Nano(ReceivedTimestamp)) > 86400000000000)
-- Not (..., ServiceName, Timestamp), which is the key of the Collector and of tables that exist
-- already: with Id, the rows of one insert stay together when parts are merged, whatever the clocks
-- of the senders show, and a merge copies runs instead of single rows (ADR 0021). idx_timestamp
-- finds an instant within the five minutes.
ORDER BY (toStartOfFiveMinutes(Timestamp), ServiceName, Id)
SETTINGS
  index_granularity = 8192,
  ttl_only_drop_parts = 1,
  non_replicated_deduplication_window = 1000,
  -- Each merge rewrites all of its rows and costs more than their insert: merge seldom, and more
  -- parts at a time.
  min_parts_to_merge_at_once = 10;
