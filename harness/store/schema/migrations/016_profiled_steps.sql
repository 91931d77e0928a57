-- Steps of a profile's window, which no timing counts; schema.sql has the column where and as SQLite writes it.
ALTER TABLE steps ADD COLUMN traced INTEGER NOT NULL DEFAULT 0;
