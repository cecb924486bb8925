-- The sort key has no time finer than five minutes; this index has.
ALTER TABLE otel_logs ADD INDEX IF NOT EXISTS idx_timestamp Timestamp TYPE minmax GRANULARITY 1;
-- A merge costs more than an insert, so that each row should be merged seldom. With 32 parts per
-- merge, a row is merged twice up to the largest parts that ClickHouse creates; with ten, three
-- times (ADR 0020).
ALTER TABLE otel_logs MODIFY SETTING min_parts_to_merge_at_once = 32;
-- The parts of a merge should have one size. With the default base of 5, which falls to 2 while
-- there are many parts, a few large parts merge again together with each 32 small ones.
ALTER TABLE otel_logs MODIFY SETTING merge_selector_base = 32; -- KNOWS merge_selector_base
-- Resources repeat, so that LZ4 compresses them better than ZSTD(1), at a lower cost (ADR 0022).
ALTER TABLE otel_logs MODIFY COLUMN ResourceAttributes CODEC(LZ4);
-- Statistics of every column, which each merge computes, only help to order joins; there are none.
ALTER TABLE otel_logs MODIFY SETTING auto_statistics_types = ''; -- KNOWS auto_statistics_types
