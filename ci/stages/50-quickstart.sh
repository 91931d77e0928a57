# The README's first command, into a database of its own, and again: a finished sweep repeats nothing.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
./perfbench sweep matrices/quickstart.yaml --db "$folder/quickstart.db"
./perfbench sweep matrices/quickstart.yaml --db "$folder/quickstart.db" --resume
./perfbench report --db "$folder/quickstart.db" --format markdown
