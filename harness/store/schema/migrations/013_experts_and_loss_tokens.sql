-- The fate of the tokens that a step sent to experts, and the number of tokens on which it was trained; schema.sql has
-- the columns where and as SQLite writes them.
ALTER TABLE steps ADD COLUMN balance_loss REAL DEFAULT 0;
ALTER TABLE steps ADD COLUMN expert_load REAL DEFAULT 0;
ALTER TABLE steps ADD COLUMN dropped_choices INTEGER NOT NULL DEFAULT 0;
ALTER TABLE steps ADD COLUMN loss_tokens INTEGER;
ALTER TABLE steps ADD COLUMN padding_tokens INTEGER;
