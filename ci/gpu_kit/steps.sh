# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the scripts that read this set kit, bin, results, archive, dry, most_of_a_part
# Steps with a time and a record: what run.sh and session.sh share. Each step has a log and a line in steps.tsv of its
# part's folder; with an archive both are in it as soon as the step ends.

parts_are=part  # how the folder of a part begins, before its number
folder=""   # of the part's results
part_end=0  # when its time is up, by SECONDS
failed=0    # steps that failed or were not begun
outcome=""  # of the last step: its code, or why it has none
grace=10    # seconds that a step gets to end by itself when its time is up

# keep PATH...: of the part's folder, into the archive.
keep() {
  [ -z "$archive" ] || tar -C "$results" -cz "${@/#/${folder##*/}/}" >>"$archive"
}

# record NAME CODE SECONDS STARTED WORDS: a line of steps.tsv. CODE is a number, or why there is none.
record() {
  [ -n "$dry" ] && return
  outcome=$2
  printf '%s\t%s\t%s\t%s\t%s\n' "$@" >>"$folder/steps.tsv"
  printf '%-52s %s, %s s\n' "$1" "$([[ $2 = [0-9]* ]] && echo "code $2" || echo "$2: $5")" "$3"
  case $2 in 0 | skipped) ;; *) failed=$((failed + 1)) ;; esac
}

# shown COMMAND...: without the kit's folder and environment.
shown() {
  local words=${*//$kit\//}
  echo "${words#env LD_LIBRARY_PATH=* PERFBENCH_GOLDEN_DIR=* }"
}

# step NAME NEEDS MOST COMMAND...: runs it for MOST seconds at most with its output in NAME.log, unless fewer than NEEDS
# are left of the part. 124: its time was up.
step() {
  local name=$1 needs=$2 most=$3 left=$((part_end - SECONDS)) began=$SECONDS code=0 started; shift 3
  if [ -n "$dry" ]; then printf '  %-50s at most %3d s  %s\n' "$name" "$most" "$(shown "$@")"; return; fi
  if [ "$left" -lt "$needs" ]; then record "$name" not_begun 0 "" "the part's time is up"; keep steps.tsv; return; fi
  started=$(date -u +%Y-%m-%dT%H:%M:%SZ)
  most=$((left < most ? left : most))
  timeout --kill-after=$grace "$most" "$@" >"$folder/$name.log" 2>&1 || code=$?
  [ "$code" != 137 ] || [ $((SECONDS - began)) -lt "$most" ] || code=124  # it did not end when it was told to
  record "$name" "$code" $((SECONDS - began)) "$started" "$(shown "$@")"
  keep "$name.log" steps.tsv
}

# skip NAME WHY
skip() {
  if [ -n "$dry" ]; then printf '  %-50s skipped here: %s\n' "$1" "$2"; return; fi
  record "$1" skipped 0 "" "$2"
  keep steps.tsv
}

# A tool of the toolkit by name, where it is wont to be; nothing where it is not.
tool() {
  command -v "$1" || compgen -G "/usr/local/cuda/bin/$1" || compgen -G "/opt/nvidia/nsight-compute/*/$1" | tail -n 1
}

# Libraries that the loader does not find by itself are looked for where toolkits and Python's packages have them.
find_libraries() {
  local needed at folders=$kit/lib python
  python=$(command -v python3)
  python=${python%/bin/python3}
  for needed in $(ldd "$bin"/* 2>/dev/null | sed -n 's/^\s*\(\S*\) => not found$/\1/p' | sort -u); do
    at=$(compgen -G "/usr/local/cuda*/lib64/$needed" || compgen -G "/usr/local/cuda*/extras/CUPTI/lib64/$needed" ||
      compgen -G "$python/lib/python3*/site-packages/nvidia/*/lib/$needed" ||
      compgen -G "/usr/local/lib/python3*/*-packages/nvidia/*/lib/$needed" ||
      compgen -G "/opt/*/lib/python3*/site-packages/nvidia/*/lib/$needed" ||
      compgen -G "/opt/*/.venv/lib/python3*/site-packages/nvidia/*/lib/$needed") || continue
    at=${at%%$'\n'*}
    case ":$folders:" in *":${at%/*}:"*) ;; *) folders="$folders:${at%/*}" ;; esac
  done
  # The programs of bin/ run with these libraries. Python's packages bring their own.
  ours=(env "LD_LIBRARY_PATH=$folders${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    "PERFBENCH_GOLDEN_DIR=$kit/source/tests/golden")
}

# Whether the engine starts and sees a GPU; else ends the script.
require_device() {
  [ -z "$dry" ] || return 0
  mkdir -p "$results" || exit 4
  results=$(cd "$results" && pwd)
  if ! "${ours[@]}" "$bin/perfbench-engine" env >"$results/env.json" 2>"$results/env.err"; then
    cat "$results/env.err" >&2
    "${ours[@]}" ldd "$bin/perfbench-engine" 2>&1 | grep 'not found' >&2
    echo "perfbench-engine does not start here: put the folders of these libraries into LD_LIBRARY_PATH, or build it" \
      "for what is here with run.sh rebuild" >&2
    exit 4
  fi
  if ! grep -q '"gpus":' "$results/env.json"; then
    echo "no CUDA device: $(sed -n 's/.*"gpu_problem":"\([^"]*\)".*/\1/p' "$results/env.json" | grep . ||
      echo "this perfbench-engine was built without CUDA")"
    exit 3
  fi
  cp "$kit/kit.txt" "$results/"
}

# part N SECONDS: begins it.
part() {
  local most=$(($2 < most_of_a_part ? $2 : most_of_a_part))
  part_end=$((SECONDS + most - grace))
  folder=$results/$parts_are$1
  echo "part $1, at most $most s"
  [ -n "$dry" ] || { rm -rf "$folder"; mkdir -p "$folder/cells" "$folder/scratch"; }
}

# cell FOLDER ROUND MOST: runs its run.json.
cell() {
  local name=${1##*/}.$2
  [ -n "$dry" ] || cp -r "$1" "$folder/cells/$name"
  step "$name" 20 "$3" "${ours[@]}" "$bin/perfbench-engine" run --dir "$folder/cells/$name"
  [ -n "$dry" ] || keep "cells/$name"
}
