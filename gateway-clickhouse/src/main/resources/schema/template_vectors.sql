-- Vectors of templates, by the recipe they were made by; a table for each dimension, since an index
-- has one. Rows of recipes that nobody uses any more are a partition that can be dropped.
-- Granules are small: of the tokens, some ten thousand bytes a row, single rows are read.
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
-- Of tables made before there was one; what they have gets it as it is merged.
ALTER TABLE log_template_vectors_{dimension}
  ADD INDEX IF NOT EXISTS idx_words Words TYPE text(tokenizer = 'splitByNonAlpha');
