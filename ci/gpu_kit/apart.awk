# How far two runs are apart: the largest relative difference of loss or norm in any step. Reads the steps.rank0.jsonl of both.
function value(key) {
  if (!match($0, "\"" key "\":[-0-9.e+]+")) return "none"
  return substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) + 0
}
function take(a, b,    d) {
  if (a == "none" || b == "none") { broken = 1; return }
  d = a - b
  if (d < 0) d = -d
  if (a < 0) a = -a
  if (a > 0 && d / a > most) most = d / a
}
FNR == NR { loss[FNR] = value("loss"); norm[FNR] = value("grad_norm"); steps = FNR; next }
{ take(loss[FNR], value("loss")); take(norm[FNR], value("grad_norm")); others = FNR }
END { if (steps == others && steps > 0) print broken ? 1 : most + 0 }
