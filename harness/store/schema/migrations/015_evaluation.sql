-- The results of an evaluation; schema.sql has the columns where and as SQLite writes them.
ALTER TABLE attempt_summaries ADD COLUMN evaluation_rows INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempt_summaries ADD COLUMN evaluation_questions INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempt_summaries ADD COLUMN evaluation_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempt_summaries ADD COLUMN evaluation_nll_sum REAL DEFAULT 0;
ALTER TABLE attempt_summaries ADD COLUMN evaluation_perplexity REAL DEFAULT 0;
ALTER TABLE attempt_summaries ADD COLUMN evaluation_accuracy REAL DEFAULT 0;
