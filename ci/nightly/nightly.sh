#!/usr/bin/env bash
# One night for any scheduler: runs `perfbench nightly`, writes what was found where CI systems look, and ends with its
# exit code: 0 fine, 1 confirmed regression, 2 inconclusive, 3 usage, 4 failure.
#
# usage: nightly.sh MATRIX DATABASE REPORTS [EXPORT]
#   DATABASE is on a disk of this machine: SQLite's write-ahead log is not safe where machines share a file system
#   EXPORT gets all of it after the night (perfbench export), and is where a lost DATABASE begins again: a file that
#     other machines may read
#   REPORTS gets alerts.md, alerts.xml (JUnit) and alerts.json
#   PERFBENCH=./perfbench              the executable
#   PERFBENCH_WEBHOOK_URL, PERFBENCH_WEBHOOK_TOKEN   where alerts are sent, if anywhere
set -euo pipefail
if [ $# -lt 3 ] || [ $# -gt 4 ]; then
  echo "usage: nightly.sh MATRIX DATABASE REPORTS [EXPORT]" >&2
  exit 3
fi
matrix=$1 database=$2 reports=$3 export=${4:-}
perfbench=${PERFBENCH:-./perfbench}
mkdir -p "$reports" "$(dirname "$database")" "$(dirname "${export:-$database}")"

# Two nights at once on one machine would measure each other.
exec 9>"$database.lock"
if ! flock -n 9; then
  echo "nightly.sh: another night still runs with $database" >&2
  exit 4
fi

if [ -n "$export" ] && [ ! -e "$database" ] && [ -e "$export" ]; then
  rm -f "$database.new"
  "$perfbench" import --db "$database.new" "$export" || { echo "nightly.sh: $export cannot be imported" >&2; exit 4; }
  mv "$database.new" "$database"
fi

code=0
"$perfbench" nightly "$matrix" --db "$database" || code=$?
if [ -e "$database" ]; then
  for kind in markdown=alerts.md junit=alerts.xml json=alerts.json; do
    "$perfbench" alerts list --db "$database" --format "${kind%=*}" >"$reports/${kind#*=}"
  done
  # Annotations are lines on standard output that GitHub's runner reads.
  if [ "${GITHUB_ACTIONS:-}" = true ]; then
    "$perfbench" alerts list --db "$database" --format github
    cat "$reports/alerts.md" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
  fi
fi
if [ -n "$export" ] && [ -e "$database" ]; then
  if ! "$perfbench" export --db "$database" "$export"; then
    echo "nightly.sh: $export was not written; $database has the night" >&2
    [ "$code" -ne 0 ] || code=4
  fi
fi
exit "$code"
