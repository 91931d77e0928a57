-- Beside what was sent, how long the host waited for it; schema.sql has the column where and as SQLite writes it.
ALTER TABLE attempt_traffic ADD COLUMN exposed_ns INTEGER NOT NULL DEFAULT 0;
