-- Tenant and service come from the log itself, not from any log of its group: if two services have
-- the same hash, a tenant is not shown the message of another tenant. Only one of the two services
-- then has a row. For logs of the same nanosecond, ClickHouse does not specify which row argMax
-- returns, but all columns come from the same row, since they see the rows in the same order.
ALTER TABLE log_template_newest_view MODIFY QUERY
SELECT
  argMax(Tenant, time) AS Tenant,
  TemplateId,
  argMax(ServiceName, time) AS ServiceName,
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
