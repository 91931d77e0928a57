# The README's first command, into a database of its own, and again: a finished sweep repeats nothing, and each of its
# runs gives the same bits once more.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
./perfbench sweep matrices/quickstart.yaml --db "$folder/quickstart.db"
./perfbench sweep matrices/quickstart.yaml --db "$folder/quickstart.db" --resume
./perfbench report --db "$folder/quickstart.db" --format markdown
# One cell once more with a traced step: where its time went, of which the products must be a part, and nothing missing.
./perfbench sweep matrices/quickstart.yaml --db "$folder/traced.db" --only model=gpt-mini --only attention=flash \
  --only remat=none --only fsdp=1 --set trace_steps=1
./perfbench trace "$folder"/traced.runs/*
./perfbench trace "$folder"/traced.runs/* --format sqlite
./perfbench trace "$folder"/traced.runs/* --format json | python3 -c '
import json, sys
(step,) = json.load(sys.stdin)["steps"]
parts = sum(v for k, v in step.items() if k.endswith("_ns") and k not in ("wall_ns", "collective_ns"))
sys.exit(0 if parts == step["wall_ns"] and step["gemm_ns"] > 0 and step["other_ns"] == 0 else f"parts of a step: {step}")'
for run in "$folder"/quickstart.runs/*; do
  ./perfbench reproduce "$run/001"
done
