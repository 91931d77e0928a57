-- Adds to the sent bytes how long the host waited for them; schema.sql has the column where and as SQLite writes it.
ALTER TABLE attempt_traffic ADD COLUMN exposed_ns INTEGER NOT NULL DEFAULT 0;
