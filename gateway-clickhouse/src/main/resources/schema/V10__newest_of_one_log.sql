-- Whose a message is comes from the log that has it, and not from any of its group: where two services
-- have one hash, a tenant is not shown the message of another. Of one of the two no newest log is at hand.
-- Of logs of the same nanosecond ClickHouse does not promise which one argMax takes, but it takes the
-- first for each column alike, having seen them in the same order.
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
