-- Which set of attributes a row's resource has, whose text is in log_texts as of Kind RESOURCE; the
-- zero UUID for none, and in all rows before this column. A row still has the attributes themselves:
-- the table is the Collector's, and those who know that read it as it is.
ALTER TABLE otel_logs ADD COLUMN IF NOT EXISTS ResourceId UUID CODEC(ZSTD(1));
