-- The logs that ClickHouse rejected, one row for each log after merges: use FINAL. The row with the
-- highest Version is valid; the version gives the state, and how often the log was replayed before.
-- Writers do not read, so that the result must not depend on the order in which they write
-- (ADR 0049). The row of a purged or replayed log stays, without its Otlp, because the ledger counts
-- it.
CREATE TABLE IF NOT EXISTS log_dead_letters (
  Tenant LowCardinality(String) CODEC(ZSTD(1)),
  Id FixedString(16) CODEC(ZSTD(1)),
  ReceivedTimestamp DateTime64(9) CODEC(ZSTD(1)),
  DeadLetteredAt DateTime64(9) CODEC(ZSTD(1)),
  Reason String CODEC(ZSTD(1)),
  Code Int32 CODEC(ZSTD(1)),
  -- The log as an ExportLogsServiceRequest.
  Otlp String CODEC(ZSTD(1)),
  ExpandedBytes UInt32 CODEC(ZSTD(1)),
  Version UInt32 CODEC(ZSTD(1)),
  State Enum8('dead-lettered' = 0, 'purged' = 1, 'replaying' = 2, 'replayed' = 3) ALIAS CAST(Version % 4, 'Enum8(\'dead-lettered\' = 0, \'purged\' = 1, \'replaying\' = 2, \'replayed\' = 3)'),
  Replays UInt32 ALIAS intDiv(Version, 4),
  -- For the retention: later for a higher version, which therefore never expires first.
  ChangedAt DateTime64(3) DEFAULT now64(3) CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(Version)
ORDER BY (Tenant, Id)
SETTINGS index_granularity = 256;
