-- Runs that an older perfbench called ok although their loss was lost (workloads/spec/finiteness.h). It kept NaN and
-- infinity alike as NULL.
UPDATE attempts SET
  state = CASE WHEN lost.loss_step IS NULL THEN state ELSE 'diverged' END,
  reason = substr(coalesce('; the loss became NaN at step ' || lost.loss_step, '') ||
                  coalesce('; the gradient norm became NaN at step ' || lost.norm_step, ''), 3)
FROM (SELECT attempt_key,
             min(CASE WHEN loss IS NULL THEN step END) AS loss_step,
             min(CASE WHEN grad_norm IS NULL THEN step END) AS norm_step
      FROM steps WHERE loss IS NULL OR grad_norm IS NULL GROUP BY attempt_key) AS lost
WHERE attempts.attempt_key = lost.attempt_key AND attempts.state = 'ok';
