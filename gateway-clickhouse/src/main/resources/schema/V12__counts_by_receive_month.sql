-- The receive date of the logs of a count, by which a new table is partitioned (ADR 0058). A table
-- that exists keeps its partitions, the months of the event time.
ALTER TABLE log_template_counts
  ADD COLUMN IF NOT EXISTS ReceivedDate Date DEFAULT toDate(Minute) CODEC(ZSTD(1));

-- The receive date comes from the rows, and is not the time of the insert, so that a repeated
-- insert has the same partition, in which ClickHouse looks for its deduplication token. Any row
-- serves: the logs of a group were received together.
ALTER TABLE log_template_counts_view MODIFY QUERY
SELECT
  any(Tenant) AS Tenant,
  any(ServiceName) AS ServiceName,
  TemplateId,
  SeverityNumber,
  toDateTime64(minutes * 60, 0) AS Minute,
  count() AS Logs,
  toDate(any(ReceivedTimestamp)) AS ReceivedDate
FROM (
  SELECT
    Tenant,
    ServiceName,
    TemplateId,
    SeverityNumber,
    ReceivedTimestamp,
    toUnixTimestamp64Nano(Timestamp) AS nanos,
    -- Rounds down, also before 1970.
    toInt32(intDiv(nanos - 59999999999 * (nanos < 0), 60000000000)) AS minutes,
    bitXor(halfMD5(Tenant), bitRotateLeft(halfMD5(ServiceName), 1)) AS service
  FROM otel_logs
  WHERE notEmpty(TemplateId)
)
GROUP BY TemplateId, SeverityNumber, minutes, service;
