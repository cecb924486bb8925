-- What the order of the table no longer says: when, within five minutes.
ALTER TABLE otel_logs ADD INDEX IF NOT EXISTS idx_timestamp Timestamp TYPE minmax GRANULARITY 1;
-- A merge costs more than an insert, so each row is to be merged few times. Thirty-two parts at once
-- are two merges up to the largest parts ClickHouse makes; ten were three.
ALTER TABLE otel_logs MODIFY SETTING min_parts_to_merge_at_once = 32;
-- And they are to be of one size. By the default of 5, which falls to 2 while there are many parts,
-- three large ones are merged again together with the small, as soon as those make thirty-two.
ALTER TABLE otel_logs MODIFY SETTING merge_selector_base = 32; -- KNOWS merge_selector_base
-- Resources repeat themselves: LZ4 packs them smaller than ZSTD(1), at half the cost.
ALTER TABLE otel_logs MODIFY COLUMN ResourceAttributes CODEC(LZ4);
-- Statistics of every column, computed in every merge, help to order joins, of which there are none.
ALTER TABLE otel_logs MODIFY SETTING auto_statistics_types = ''; -- KNOWS auto_statistics_types
