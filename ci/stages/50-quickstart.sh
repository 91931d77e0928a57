# The README's first command, into a database of its own, and again: a finished sweep repeats nothing, and each of its
# runs gives the same bits once more.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
./perfbench sweep matrices/quickstart.yaml --db "$folder/quickstart.db"
./perfbench sweep matrices/quickstart.yaml --db "$folder/quickstart.db" --resume
./perfbench report --db "$folder/quickstart.db" --format markdown
for run in "$folder"/quickstart.runs/*; do
  ./perfbench reproduce "$run/001"
done
