# ci/nightly: every example parses and calls nightly.sh, which passes codes on and writes the reports.
# usage: nightly_examples_test.sh REPOSITORY
set -u
repository=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

expect() { # expect WHAT WANTED FOUND
  [ "$2" = "$3" ] && return
  echo "$1: wanted '$2', found '$3'"
  failures=$((failures + 1))
}

# A perfbench that notes its arguments and ends as told.
cat >"$work/perfbench" <<'SH'
#!/usr/bin/env bash
echo "$*" >>"$CALLS"
case $1 in
  nightly) [ -n "${NO_DATABASE:-}" ] || touch "$4"; exit "$CODE" ;;
  alerts) echo "as $6" ;;
  import) touch "$3"; exit "${IMPORT_CODE:-0}" ;;
  export) echo exported >"$4"; exit "${EXPORT_CODE:-0}" ;;
esac
SH
chmod +x "$work/perfbench"
export PERFBENCH=$work/perfbench CALLS=$work/calls
unset GITHUB_ACTIONS GITHUB_STEP_SUMMARY

night() { # night CODE: $code is that of nightly.sh, $output its output
  rm -rf "$work/data" "$work/reports" "$work/calls"
  output=$(CODE=$1 bash "$repository/ci/nightly/nightly.sh" m.yaml "$work/data/perf.db" "$work/reports" 2>&1)
  code=$?
}

for wanted in 0 1 2 3 4; do
  night $wanted
  expect "exit code of a night" $wanted $code
  expect 'the matrix and the database' "nightly m.yaml --db $work/data/perf.db" "$(head -n 1 "$work/calls")"
  expect 'alerts.md' 'as markdown' "$(cat "$work/reports/alerts.md")"
  expect 'alerts.xml' 'as junit' "$(cat "$work/reports/alerts.xml")"
  expect 'alerts.json' 'as json' "$(cat "$work/reports/alerts.json")"
  expect 'nothing printed' '' "$output"
done
NO_DATABASE=1 night 4
expect 'a night without a database' 4 $code
GITHUB_ACTIONS=true GITHUB_STEP_SUMMARY=$work/summary night 1
expect 'annotations' 'as github' "$output"
expect 'the summary' 'as markdown' "$(cat "$work/summary")"
bash "$repository/ci/nightly/nightly.sh" m.yaml >/dev/null 2>&1
expect 'too few arguments' 3 $?

# A database on a node's own disk, and an export of it in a place that other machines see.
shared() { # shared CODE: a night with an export
  rm -rf "$work/reports" "$work/calls"
  CODE=$1 bash "$repository/ci/nightly/nightly.sh" m.yaml "$work/data/perf.db" "$work/reports" "$work/share/perf.perfbench" >/dev/null 2>&1
  code=$?
}
rm -rf "$work/data"
shared 2
expect 'a night with an export' 2 $code
expect 'nothing to begin with' "nightly m.yaml --db $work/data/perf.db" "$(head -n 1 "$work/calls")"
expect 'the export comes last' "export --db $work/data/perf.db $work/share/perf.perfbench" "$(tail -n 1 "$work/calls")"
expect 'the export' exported "$(cat "$work/share/perf.perfbench")"
shared 0
expect 'the database that is there counts' "nightly m.yaml --db $work/data/perf.db" "$(head -n 1 "$work/calls")"
rm -rf "$work/data"
shared 0
expect 'a lost disk' "import --db $work/data/perf.db.new $work/share/perf.perfbench" "$(head -n 1 "$work/calls")"
expect 'what was imported is the database' 0 "$([ -e "$work/data/perf.db" ] && [ ! -e "$work/data/perf.db.new" ]; echo $?)"
rm -rf "$work/data"
IMPORT_CODE=3 shared 0
expect 'an export that cannot be read' 4 $code
expect 'no night without its history' 1 "$([ -e "$work/data/perf.db" ]; echo $?)"
EXPORT_CODE=4 shared 0
expect 'an export that cannot be written' 4 $code
EXPORT_CODE=4 shared 1
expect 'a regression and no export' 1 $code

mkdir -p "$work/data"
exec 8>"$work/data/perf.db.lock"
flock -n 8
CODE=0 bash "$repository/ci/nightly/nightly.sh" m.yaml "$work/data/perf.db" "$work/reports" >/dev/null 2>&1
expect 'two nights at once' 4 $?
exec 8>&-

# Parts for a parser; python3 without PyYAML checks only the shell parts.
cd "$repository/ci/nightly" || exit 1
for script in nightly.sh perfbench.sbatch; do
  bash -n "$script" || { echo "$script is no bash"; failures=$((failures + 1)); }
done
for example in github-actions.yml gitlab-ci.yml Jenkinsfile crontab; do
  grep -q 'ci/nightly/nightly.sh matrices/[a-z]*.yaml "\$HOME/' "$example" || { echo "$example calls no night"; failures=$((failures + 1)); }
done
# Home folders of clusters are on network file systems; a database that is measured into must not be.
database=$(sed -n 's|^ci/nightly/nightly.sh matrices/[a-z]*.yaml "\([^"]*\)" .*|\1|p' perfbench.sbatch)
expect 'the database of a job' "/var/tmp/perfbench-somebody/perf.db" "$(unset PERFBENCH_LOCAL; USER=somebody; eval "$(grep '^local_disk=' perfbench.sbatch)"; eval "echo $database")"
python3 - <<'PY' || failures=$((failures + 1))
import subprocess, sys

def shell(name, text):
    if subprocess.run(["bash", "-n"], input=text, text=True).returncode != 0:
        sys.exit(f"{name} holds shell that bash does not take")

line = [l for l in open("crontab") if l.strip() and not l.startswith("#") and "=" not in l.split()[0]]
if len(line) != 1: sys.exit("crontab: one line wanted")
fields = line[0].split(None, 5)
for field, (low, high) in zip(fields, [(0, 59), (0, 23), (1, 31), (1, 12), (0, 7)]):
    if field != "*" and not low <= int(field) <= high: sys.exit(f"crontab: {field} is no time")
if "%" in fields[5]: sys.exit("crontab: cron takes % for a line break")
shell("crontab", fields[5])
text = open("Jenkinsfile").read()
for pair in ("{}", "()", "[]"):
    if text.count(pair[0]) != text.count(pair[1]): sys.exit(f"Jenkinsfile: {pair} do not match")
try:
    import yaml
except ImportError:
    print("PyYAML is not installed: the YAML examples were not read")
    sys.exit(0)
steps = yaml.safe_load(open("github-actions.yml"))["jobs"]["nightly"]["steps"]
for step in steps:
    if "run" in step: shell("github-actions.yml", step["run"])
for command in yaml.safe_load(open("gitlab-ci.yml"))["perfbench nightly"]["script"]: shell("gitlab-ci.yml", command)
PY
[ "$failures" -eq 0 ]
