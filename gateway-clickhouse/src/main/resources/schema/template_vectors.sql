-- The vectors of templates by embedding version (column Recipe), with one table for each dimension,
-- since a vector index has one dimension. The rows of an unused embedding version are a partition,
-- which can be dropped. Granules are small, since single rows are read, whose tokens have some ten
-- thousand bytes.
CREATE TABLE IF NOT EXISTS log_template_vectors_{dimension} (
  Tenant LowCardinality(String) CODEC(ZSTD(1)),
  Recipe LowCardinality(String) CODEC(ZSTD(1)),
  TemplateId UUID CODEC(NONE),
  Words String CODEC(ZSTD(1)),
  Vector Array(Float32) CODEC(NONE),
  Tokens String CODEC(NONE),
  WrittenAt DateTime64(3) DEFAULT now64(3) CODEC(ZSTD(1)),
  INDEX idx_vector Vector TYPE vector_similarity('hnsw', 'cosineDistance', {dimension}),
  INDEX idx_words Words TYPE text(tokenizer = 'splitByNonAlpha')
)
ENGINE = ReplacingMergeTree(WrittenAt)
PARTITION BY Recipe
ORDER BY (Tenant, TemplateId)
SETTINGS index_granularity = 4;
-- For tables that were created without the index; existing parts get it with their next merge.
ALTER TABLE log_template_vectors_{dimension}
  ADD INDEX IF NOT EXISTS idx_words Words TYPE text(tokenizer = 'splitByNonAlpha');
