-- Counting costs less when no key is a string (ADR 0029): ClickHouse packs keys of up to 32 bytes
-- into one; these have 16, 1, 4 and 8. A hash stands for tenant and service; it is computed once
-- for each name in a block, so that a slow hash is acceptable. Pairs of tenant and service with the
-- same hash are counted as one of them, within one insert, template and minute. A client that
-- chooses its own names can create such pairs, but falsifies only the counts of these names; a
-- collision with names of another tenant requires a second preimage. MODIFY QUERY, since no insert
-- stays uncounted as with a dropped and recreated view.
ALTER TABLE log_template_counts_view MODIFY QUERY
SELECT
  any(Tenant) AS Tenant,
  any(ServiceName) AS ServiceName,
  TemplateId,
  SeverityNumber,
  toDateTime64(minutes * 60, 0) AS Minute,
  count() AS Logs
FROM (
  SELECT
    Tenant,
    ServiceName,
    TemplateId,
    SeverityNumber,
    toUnixTimestamp64Nano(Timestamp) AS nanos,
    -- Rounds down, also before 1970.
    toInt32(intDiv(nanos - 59999999999 * (nanos < 0), 60000000000)) AS minutes,
    bitXor(halfMD5(Tenant), bitRotateLeft(halfMD5(ServiceName), 1)) AS service
  FROM otel_logs
  WHERE notEmpty(TemplateId)
)
GROUP BY TemplateId, SeverityNumber, minutes, service;
