-- Stages of a pipeline wait for each other. A table of every step of a million attempts is not made anew: schema.sql has
-- the column where and as SQLite writes it.
ALTER TABLE steps ADD COLUMN bubble_ns INTEGER NOT NULL DEFAULT 0;
