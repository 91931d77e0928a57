#!/bin/sh
# ci/fuzz.sh [SECONDS]: fuzzes the readers of matrices, of run.json, of the words that name sides, margins and faults, of
# exports, of what other training programs print, and of the files of benchmark programs. Each takes SECONDS (default 60),
# with clang's libFuzzer under AddressSanitizer and UndefinedBehaviorSanitizer. An input that breaks one is left in the
# build folder.
set -eu
seconds=${1:-60}
cd "$(dirname "$0")/.."
build=build/asan
mkdir -p build
cmake --preset asan >"$build.log" 2>&1 || { cat "$build.log"; exit 1; }
targets="matrix run_json words archive readers benchmarks"
ninja -C "$build" write_seeds $(printf '%s_fuzzer ' $targets)
fuzzers=$build/bin
work=$build/fuzz
mkdir -p "$work/seeds/matrix" "$work/broken"
cp matrices/*.yaml tests/harness/bad_matrices/*.yaml "$work/seeds/matrix"
"$fuzzers/write_seeds" "$work/seeds" matrices/*.yaml
for target in $targets; do
  mkdir -p "$work/found/$target"
  echo "fuzzing $target for $seconds s"
  dictionary=
  [ ! -f "tests/fuzz/$target.dict" ] || dictionary=-dict=tests/fuzz/$target.dict
  "$fuzzers/${target}_fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=16384 \
    -print_final_stats=1 -artifact_prefix="$work/broken/$target." $dictionary \
    "$work/found/$target" "$work/seeds/$target" >"$work/$target.log" 2>&1 || {
    tail -n 60 "$work/$target.log"
    exit 1
  }
  grep -E "number_of_executed_units|peak_rss" "$work/$target.log"
done
