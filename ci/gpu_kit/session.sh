#!/usr/bin/env bash
# A quarter of an hour on a GPU, as two commands that decide which changes of the engine stay.
# usage: session.sh [first|second] [--dry] [--again] [--out DIR] [--state FILE]
#   first    at most 430 s: 1 ceilings of the card, 2 tests of what changed, 3 attention at real sizes by both kernels,
#            4 a 1.2B model by its options, 5 llama2-7b's shapes by its options and in fp8
#   second   at most 240 s: 6 kernels between the products, 7 experts, 8 a long sequence, 9 a memory check
#   neither  the first of the two that has a part left to do; with --dry both
#   --dry         prints every line of what it would do; needs no GPU
#   --again       does parts again that are done for this engine and this kind of card
#   --out DIR     where results go, as they are made; default $OUT, else out/ beside this script. Four files:
#                 session.tgz (every log, record and trace), figures.tsv, decided.txt, state.tsv
#   --state FILE  which parts are done, by engine and card; default state.tsv beside this script
# The first command stops behind part 1 where a ceiling of the card is more than 5 % below what it should be: such a card
# is shared, throttled or another, and would cost the whole visit. At home:
#   ci/gpu_kit.sh report DIR/session.tgz --state DIR/state.tsv
# Exit codes: 0 all is done and well, 1 something failed or was not begun, 2 stopped by a ceiling, 3 no CUDA device or
# wrong arguments, 4 the engine does not start here.
set -u
kit=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=$kit/bin
unset CDPATH

command="" dry="" again="" out=${OUT:-$kit/out} state=$kit/state.tsv
while [ $# -gt 0 ]; do
  case $1 in
    first | second) command="$command $1" ;;
    --dry) dry=yes ;;
    --again) again=yes ;;
    --out) out=${2:?--out needs a folder}; shift ;;
    --state) state=${2:?--state needs a file}; shift ;;
    --help | -h) sed -n '2,/^set -u/{/^set -u/d; s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "session.sh: what is '$1'? See session.sh --help" >&2; exit 3 ;;
  esac
  shift
done

# shellcheck disable=SC2034  # read by their names
first_parts="1 2 3 4 5" first_seconds=430 second_parts="6 7 8 9" second_seconds=240
results=$kit/results archive="" most_of_a_part=86400
# shellcheck source=ci/gpu_kit/steps.sh
. "$kit/steps.sh"
parts_are=session

engine=$(sed -n 's/^engine //p' "$kit/kit.txt")
commit=$(sed -n 's/^commit //p' "$kit/kit.txt")
card=""

# done_line PART: the line of the state that says that it is done for this engine, on this kind of card where one is known.
done_line() {
  [ -e "$state" ] && awk -F'\t' -v part="$1" -v engine="$engine" -v card="$card" '
    $1 == part && $2 == "done" && $5 == engine && (card == "" || $3 == card) { line = $0 } END { print line }' "$state"
}

# left_of PARTS: those that are not done.
left_of() {
  local number
  for number in $1; do
    if [ -n "$again" ] || [ "$number" = 1 ] || [ -z "$(done_line "$number")" ]; then echo "$number"; fi
  done
}

# figure NAME UNIT VALUE
figure() {
  printf '%s\t%s\t%s\t%s\n' "$number" "$1" "$2" "$3" >>"$out/figures.tsv"
}

# decide: what the figures of the part mean, to the screen and the file.
decide() {
  if [ -n "$dry" ]; then
    awk -F'\t' -v part="$number" -v dry=yes -v as=text -f "$kit/decide.awk" "$kit/expected.tsv" /dev/null
    return
  fi
  awk -F'\t' -v part="$number" -v card="$card" -v as=text -f "$kit/decide.awk" "$kit/expected.tsv" "$out/figures.tsv" |
    tee -a "$out/decided.txt"
}

# case_of FOLDER: "04-case-fp8-kept.2" -> "fp8-kept".
case_of() {
  local name=${1##*/}
  name=${name#*-case-}
  echo "${name%.[0-9]}"
}

# median STEPS_FILE: of the steps behind the third, in ms. Those before choose algorithms and record.
median() {
  sed -n 's/.*"step":\([0-9]*\).*"wall_ns":\([0-9]*\).*/\1 \2/p' "$1" 2>/dev/null | awk '$1 > 2 { print $2 / 1e6 }' |
    sort -n | awk '{ v[NR] = $1 } END { if (NR) print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

# timed FOLDER ROUND MOST: runs a cell, and its step is a figure.
timed() {
  cell "$1" "$2" "$3"
  [ -z "$dry" ] || return 0
  local ms
  ms=$(median "$folder/cells/${1##*/}.$2/steps.rank0.jsonl")
  if [ "$outcome" = 0 ] && [ -n "$ms" ]; then figure "$(case_of "$1")" ms "$ms"; fi
}

# all_cells ROUND MOST: every cell of the part, or none where the kit has none.
all_cells() {
  local at
  for at in "$kit/cells/session$number"/*; do [ ! -e "$at/run.json" ] || timed "$at" "$1" "$2"; done
}

# micro NAME FILTER MOST: benchmarks of the device, whose times and rates are figures.
micro() {
  step "$1" 10 "$3" "${ours[@]}" "$bin/perfbench-micro-device" --benchmark_format=csv "--benchmark_filter=$2"
  [ -z "$dry" ] || return 0
  awk -F, -v part="$number" '
    /^name,/ { for (i = 1; i <= NF; ++i) { gsub(/"/, "", $i); at[$i] = i } next }
    /^"/ { gsub(/"/, ""); sub(/\/iterations:.*/, "", $1)
           if (at["FLOP/s"] && $(at["FLOP/s"]) != "") print part "\t" $1 "\tTFLOP/s\t" $(at["FLOP/s"]) / 1e12
           else if ($1 == "copy") print part "\t" $1 "\tTB/s\t" $(at["B/s"]) / 1e12
           else print part "\t" $1 "\tus\t" $(at["real_time"]) / 1e3 }' "$folder/$1.log" >>"$out/figures.tsv"
}

part_1() {
  micro ceilings '^(copy|bf16_product/n:8192)(/|$)' 40
}

part_2() {
  local binary filter
  while IFS=$'\t' read -r binary filter; do
    case $binary in '' | \#*) continue ;; esac
    if [ -n "$dry" ] || [ -x "$bin/$binary" ]; then
      step "$binary" 10 50 "${ours[@]}" "$bin/$binary" --gtest_color=no "--gtest_filter=$filter"
    else
      skip "$binary" "not in this kit"
    fi
  done <"$kit/changed_tests.tsv"
}

# Losses and norms of both kernels of attention, step by step.
part_3() {
  local own other name apart
  for own in "$kit/cells/session3"/*-own; do
    [ -e "$own/run.json" ] || continue
    name=$(case_of "$own") name=${name%-own}
    other=$(compgen -G "$kit/cells/session3/*-case-$name-cudnn") || continue
    cell "$own" 1 15
    cell "$other" 1 15
    [ -z "$dry" ] || continue
    apart=$(awk -f "$kit/apart.awk" "$folder/cells/${own##*/}.1/steps.rank0.jsonl" \
      "$folder/cells/${other##*/}.1/steps.rank0.jsonl" 2>/dev/null)
    if [ -n "$apart" ]; then figure "$name" apart "$apart"; fi
  done
}

part_4() { all_cells 1 30; all_cells 2 30; }
part_5() { all_cells 1 45; all_cells 2 45; }

part_6() {
  local ncu
  micro between 'norm_forward/rmsnorm|norm_backward/rmsnorm|activation|cross_entropy|quantize/delayed|fp8_weight' 45
  ncu=$(tool ncu)
  if [ -n "$ncu$dry" ]; then
    step ncu 20 45 "${ours[@]}" "${ncu:-ncu}" --csv --clock-control none --section SpeedOfLight --section Occupancy \
      --launch-skip 2 --launch-count 20 "$bin/perfbench-micro-device" --benchmark_filter=norm_forward/rmsnorm
  else
    skip ncu "ncu is not installed"
  fi
}

part_7() { all_cells 1 40; }
part_8() { all_cells 1 40; }

part_9() {
  local memcheck
  memcheck=$(tool compute-sanitizer)
  if [ -n "$memcheck$dry" ]; then
    step memcheck 20 60 "${ours[@]}" "${memcheck:-compute-sanitizer}" --tool memcheck --error-exitcode 1 \
      "$bin/engine_cuda_ops_tests" '--gtest_filter=CudaAttention.TheLibraryEqualsTheOwnKernels'
  else
    skip memcheck "compute-sanitizer is not installed"
  fi
}

# seconds_of PART
seconds_of() {
  case $1 in 1) echo 30 ;; 2) echo 60 ;; 3) echo 90 ;; 4) echo 110 ;; 5) echo 150 ;; 6) echo 80 ;; *) echo 60 ;; esac
}

# note_state PART OUTCOME
note_state() {
  printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$card" "$commit" "$engine" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" |
    tee -a "$state" >>"$out/state.tsv"
}

# card_of NAME: as expected.tsv calls it.
card_of() {
  case $1 in *H200*) echo h200 ;; *H100*) echo h100 ;; *) echo "${1// /-}" ;; esac
}

# one_part PART: within what the command has left.
one_part() {
  local before
  number=$1
  if [ -n "$dry" ] && [ "$number" != 1 ] && [ -n "$(done_line "$number")" ] && [ -z "$again" ]; then
    echo "part $number is done: $(done_line "$number")"
    return
  fi
  most_of_a_part=$((command_end - SECONDS))
  part "$number" "$(seconds_of "$number")"
  "part_$number"
  if [ -z "$dry" ]; then
    before=$(grep -c $'\tnot_begun\t' "$folder/steps.tsv" 2>/dev/null)
    note_state "$number" "$([ "${before:-0}" = 0 ] && echo "done" || echo unfinished)"
  fi
  decide
}

one_command() {
  local parts seconds
  parts="$1_parts" seconds="$1_seconds"
  echo "$1 command, at most ${!seconds} s, engine $engine of $commit"
  command_end=$((SECONDS + ${!seconds} - grace))
  find_libraries
  require_device
  if [ -z "$dry" ]; then
    mkdir -p "$out" || exit 4
    archive=$(cd "$out" && pwd)/session.tgz
    card=$(card_of "$(sed -n 's/.*"gpu_model":"\([^"]*\)".*/\1/p' "$results/env.json")")
    tar -C "$results" -cz env.json kit.txt >>"$archive"
    parts=$(left_of "${!parts}")
  else
    parts=${!parts}
  fi
  for number in $parts; do
    one_part "$number"
    if [ "$number" = 1 ] && [ -z "$dry" ] && grep -q '^1: STOP' "$out/decided.txt"; then
      echo "stopped: the card does not reach its ceilings"
      exit 2
    fi
  done
}

if [ -z "$command" ]; then
  if [ -n "$dry" ]; then command="first second"
  elif [ "$(left_of "$first_parts")" != 1 ]; then command=first
  elif [ -n "$(left_of "$second_parts")" ]; then command=second
  else echo "every part is done for this engine: --again does them again"; exit 0; fi
fi
for which in $command; do one_command "$which"; done
[ "$failed" = 0 ]
