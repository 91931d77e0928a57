#!/usr/bin/env bash
# A small training from beginning to end, on text that every Debian carries: tokenised, trained on two ranks, killed with
# SIGKILL after a checkpoint, continued on another mesh, scored on the last words of held-back lines, and exported to
# safetensors. If a Python has transformers, they are loaded there and give the same loss. The same training without an
# interruption runs beside it.
# usage: ci/text_run.sh [FOLDER]     keeps everything in FOLDER; without it, uses a temporary folder and removes it
#   TEXT_RUN_STEPS=200     optimizer steps
#   TEXT_RUN_PYTHON=...    a Python with torch and transformers (python3)
set -eu
root=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/..")
cd "$root"
steps=${TEXT_RUN_STEPS:-200}
python=${TEXT_RUN_PYTHON:-python3}
if [ $# -gt 0 ]; then
  mkdir -p "$1"
  out=$(readlink -f "$1")
else
  out=$(mktemp -d)
  trap 'rm -rf "$out"' EXIT
fi

python3 ci/text_run/divide_corpus.py "$out/corpus"
./perfbench data prepare --out "$out/text" "$out/corpus/train"
./perfbench data prepare --format lambada --out "$out/last_words" "$out/corpus/last_words.jsonl"

# matrix NAME MESH STEPS CHECKPOINT EVALUATION
matrix() {
  cat >"$out/$1.yaml" <<EOF
name: $1
defaults:
  {model: gpt-mini, model.vocab_size: 256, mesh: {ici: {$2}}, seq_len: 128, global_batch: 16, steps: $3,
   data: {kind: flat_tokens, path: $out/text}, optimizer: {learning_rate: 1e-3, warmup_steps: 20},
   checkpoint: {$4}$5}
EOF
}
evaluation=", evaluation: {path: $out/last_words}"

echo "== $steps steps in one go"
matrix in_one_go "dp: 1" "$steps" "every_steps: $steps, path: $out/in_one_go" "$evaluation"
./perfbench sweep "$out/in_one_go.yaml" --db "$out/text_run.db"

echo "== two ranks of dp, killed"
matrix killed "dp: 2" "$steps" "every_steps: $((steps / 4)), path: $out/kept" ""
./perfbench sweep "$out/killed.yaml" --db "$out/text_run.db" &
sweep=$!
wanted=$(printf '%s/kept/step_%08d' "$out" $((steps / 2)))
while [ ! -d "$wanted" ] && kill -0 "$sweep" 2>/dev/null; do sleep 0.05; done
kill -KILL "$sweep" 2>/dev/null || true
wait "$sweep" || true
newest=$(basename "$(find "$out/kept" -maxdepth 1 -name 'step_*' ! -name '*.partial' | sort | tail -1)")
taken=$((10#${newest#step_}))
if [ "$taken" -ge "$steps" ]; then
  echo "text_run: it ended before it could be killed"
  exit 1
fi
echo "killed; the newest whole checkpoint is $newest"

echo "== gone on with on two ranks of fsdp"
left=$((steps - taken))
matrix resumed "fsdp: 2" "$left" "every_steps: $left, path: $out/kept, restore: $out/kept/$newest" "$evaluation"
./perfbench sweep "$out/resumed.yaml" --db "$out/text_run.db"

echo "== exported"
./perfbench weights export "$out/kept" --out "$out/exported"
python3 ci/text_run/compare_runs.py "$out"
if "$python" -c 'import torch, transformers' 2>/dev/null; then
  "$python" ci/text_run/score_export.py "$out"
else
  echo "skipped: $python has no torch and transformers to load the export with"
fi
