-- The cost of checkpoints; schema.sql has the columns where and as SQLite writes them.
ALTER TABLE steps ADD COLUMN checkpoint_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempt_summaries ADD COLUMN checkpoint_saves INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempt_summaries ADD COLUMN checkpoint_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempt_summaries ADD COLUMN checkpoint_save_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempt_summaries ADD COLUMN checkpoint_restore_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempt_summaries ADD COLUMN checkpoint_first_step INTEGER NOT NULL DEFAULT 0;
DROP VIEW v_steps;
CREATE VIEW v_steps AS
SELECT t.attempt_key, r.run_id, a.attempt, t.rank, t.step, t.traced, t.wall_ns / 1e9 AS wall_s,
       t.data_ns / 1e9 AS data_s, t.forward_ns / 1e9 AS forward_s, t.backward_ns / 1e9 AS backward_s,
       t.exposed_comm_ns / 1e9 AS exposed_comm_s, t.bubble_ns / 1e9 AS bubble_s, t.optimizer_ns / 1e9 AS optimizer_s,
       t.other_ns / 1e9 AS other_s, t.tokens, t.loss, t.grad_norm, t.checkpoint_ns / 1e9 AS checkpoint_s
  FROM steps t JOIN attempts a ON a.attempt_key = t.attempt_key JOIN runs r ON r.run_key = a.run_key;
