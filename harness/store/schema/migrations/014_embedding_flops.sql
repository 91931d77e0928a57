-- FLOPs of an embedding's products, which older attempts looked up. The column stands among those of the other FLOPs, so the
-- table is made anew.
CREATE TEMPORARY TABLE older_summaries AS SELECT * FROM attempt_summaries;
DROP TABLE attempt_summaries;
CREATE TABLE attempt_summaries (
  attempt_key                      INTEGER PRIMARY KEY REFERENCES attempts,
  status                           TEXT NOT NULL,
  message                          TEXT NOT NULL,
  steps                            INTEGER NOT NULL,
  startup_ns                       INTEGER NOT NULL,
  peak_weights_bytes               INTEGER NOT NULL,
  peak_gradients_bytes             INTEGER NOT NULL,
  peak_optimizer_bytes             INTEGER NOT NULL,
  peak_activations_bytes           INTEGER NOT NULL,
  peak_gathered_bytes              INTEGER NOT NULL,
  peak_workspace_bytes             INTEGER NOT NULL,
  peak_host_bytes                  INTEGER NOT NULL,
  peak_total_bytes                 INTEGER NOT NULL,
  arena_bytes                      INTEGER NOT NULL,
  resident_bytes                   INTEGER NOT NULL,
  emulated                         INTEGER NOT NULL CHECK (emulated IN (0, 1)),
  flops_attention_projection_flops INTEGER NOT NULL,
  flops_attention_score_flops      INTEGER NOT NULL,
  flops_feed_forward_flops         INTEGER NOT NULL,
  flops_unembedding_flops          INTEGER NOT NULL,
  flops_rematerialised_flops       INTEGER NOT NULL,
  flops_embedding_flops            INTEGER NOT NULL,
  parameters                       INTEGER NOT NULL,
  matmul_parameters                INTEGER NOT NULL
) STRICT;
INSERT INTO attempt_summaries (
  attempt_key, status, message, steps, startup_ns, peak_weights_bytes, peak_gradients_bytes, peak_optimizer_bytes,
  peak_activations_bytes, peak_gathered_bytes, peak_workspace_bytes, peak_host_bytes, peak_total_bytes, arena_bytes,
  resident_bytes, emulated, flops_attention_projection_flops, flops_attention_score_flops, flops_feed_forward_flops,
  flops_unembedding_flops, flops_rematerialised_flops, flops_embedding_flops, parameters, matmul_parameters)
SELECT
  attempt_key, status, message, steps, startup_ns, peak_weights_bytes, peak_gradients_bytes, peak_optimizer_bytes,
  peak_activations_bytes, peak_gathered_bytes, peak_workspace_bytes, peak_host_bytes, peak_total_bytes, arena_bytes,
  resident_bytes, emulated, flops_attention_projection_flops, flops_attention_score_flops, flops_feed_forward_flops,
  flops_unembedding_flops, flops_rematerialised_flops, 0, parameters, matmul_parameters
FROM older_summaries;
DROP TABLE older_summaries;
