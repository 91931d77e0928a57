#!/usr/bin/env bash
# One folder that brings home tests, traces and figures whenever a GPU is at hand for minutes: made on a machine without
# a GPU, run on one without network and without our build dependencies, reported at home.
# usage: ci/gpu_kit.sh build OUT [--from TREE] [--hardware NAME]
#          makes OUT: OUT/session.sh --help says what two commands measure and decide in a quarter of an hour there, and
#          OUT/run.sh --help what its four longer parts do
#          --from TREE       takes engine and tests from a build tree that exists; else builds build/gpu_kit, for sm_90a
#                            (H100, H200) and any x86-64 processor with AVX2; `run.sh rebuild` is for other GPUs
#          --hardware NAME   a file of workloads/hardware, whose peaks MFU means; default h100 (an H200 has the same)
#        ci/gpu_kit.sh report FOLDER|ARCHIVE... [--db DB] [--perfbench BIN] [--state FILE] [--figures FILE]
#          takes results (of `run.sh --results FOLDER`, `--archive ARCHIVE`, `session.sh`) into a database, and prints what
#          failed, the table with its MFU, each operation's time beside its estimate, and the engine beside PyTorch; of a
#          session also each figure beside what was expected, and which changes to keep or take back
#          --state FILE      a session's state.tsv: its lines come into ci/gpu_kit/state.tsv, for the next kit
#          --figures FILE    a session's figures.tsv; default beside the first archive
#          --db DB           made when absent; default build/gpu_kit.db, evidence beside it
#          --perfbench BIN   default: the one of build/cpu, build/cuda or build/gpu_kit
# Exit codes: 0 done (report: and nothing failed), 1 report: something failed, 3 wrong arguments or input, 4 failure.
# example: ci/gpu_kit.sh build /tmp/kit && scp -r /tmp/kit node: && ssh node kit/run.sh all
set -eu
root=$(readlink -f "${BASH_SOURCE[0]}")
root=${root%/ci/*}
export PYTHONDONTWRITEBYTECODE=1  # records say whether the tree has changes

# Options of the engine's build, here and by `run.sh rebuild` there: no library that a bare machine lacks, one GPU a run.
options=(-DCMAKE_BUILD_TYPE=Release -DPERFBENCH_CUDA=ON -DPERFBENCH_MARCH=x86-64-v3
  -DPERFBENCH_MPI=OFF -DPERFBENCH_NCCL_LIBRARY=OFF -DPERFBENCH_ONEDNN_LIBRARY=OFF -DPERFBENCH_OPENBLAS_LIBRARY=OFF
  -DPERFBENCH_BLOSC_LIBRARY=OFF)
tests=(engine_cuda_ops_tests engine_cuda_training_tests)

usage() {
  echo "ci/gpu_kit.sh: $1 See ci/gpu_kit.sh --help" >&2
  exit 3
}

# Device code compressed for size, and the C++ library within: 60 MiB is what such a machine may take.
build_tree() {
  cmake -S "$root" -B "$1" -G Ninja "${options[@]}" -DPERFBENCH_CUDA_ARCHITECTURES=90a-real \
    -DCMAKE_CUDA_FLAGS=--compress-mode=size '-DCMAKE_EXE_LINKER_FLAGS=-static-libstdc++ -static-libgcc' \
    -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=8 -DPERFBENCH_CUDNN_FRONTEND="$("$root/ci/cudnn_frontend.sh")"
  ninja -C "$1" bin/perfbench bin/perfbench-engine perfbench-micro-device "${tests[@]}"
}

# pack_binary FILE OUT: stripped, with the libraries that it wants beyond libc, driver and toolkit.
pack_binary() {
  local library
  cp "$1" "$2/bin/"
  strip "$2/bin/${1##*/}" 2>/dev/null || true  # not of a script
  ldd "$1" 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | while read -r library; do
    case ${library##*/} in
      libc.so.* | libm.so.* | libdl.so.* | librt.so.* | libpthread.so.* | libutil.so.* | libcuda.so.* | libnvidia-*) ;;
      libcu* | libnv* | libnccl*) ;;
      *) cp -L "$library" "$2/lib/" ;;
    esac
  done
}

# The sources of the engine, and the headers that a GPU machine lacks. The peers and the goldens use them too.
pack_source() {
  local frontend
  mkdir -p "$1/source" "$1/headers/include" "$1/headers/share/cmake"
  tar -C "$root" --exclude=__pycache__ -c CMakeLists.txt ci engine workloads tests/golden | tar -C "$1/source" -x
  frontend=$("$root/ci/cudnn_frontend.sh")
  [ -z "$frontend" ] || cp -r "$frontend/." "$1/headers/include/"
  [ ! -d /usr/include/nlohmann ] || cp -r /usr/include/nlohmann "$1/headers/include/"
  [ ! -d /usr/share/cmake/nlohmann_json ] || cp -r /usr/share/cmake/nlohmann_json "$1/headers/share/cmake/"
}

build() {
  local out=$1 tree=$2 hardware=$3 matrix test
  if [ -e "$out" ] && [ -n "$(ls -A "$out")" ]; then usage "$out is not empty."; fi
  mkdir -p "$out/bin" "$out/lib"
  out=$(readlink -f "$out")
  if [ -z "$tree" ]; then
    tree=$root/build/gpu_kit
    build_tree "$tree"
  fi
  [ -x "$tree/bin/perfbench-engine" ] || usage "$tree has no bin/perfbench-engine."
  pack_binary "$tree/bin/perfbench-engine" "$out"
  if [ -x "$tree/bin/perfbench-micro-device" ]; then pack_binary "$tree/bin/perfbench-micro-device" "$out"
  else echo "without perfbench-micro-device: $tree was built without CUDA or Google Benchmark" >&2; fi
  for test in "${tests[@]}"; do
    if [ -x "$tree/tests/engine/$test" ]; then pack_binary "$tree/tests/engine/$test" "$out"
    else echo "without $test: $tree was built without CUDA" >&2; fi
  done
  pack_source "$out"
  for matrix in "$root"/ci/gpu_kit/*.yaml; do
    python3 "$root/ci/gpu_kit/planned_cells.py" --perfbench "$tree/bin/perfbench" \
      --engine "$tree/bin/perfbench-engine" --hardware "$hardware" "$matrix" "$out/cells/$(basename "$matrix" .yaml)"
  done
  [ -e "$(compgen -G "$out/cells/part1/*/operations.json" | head -n 1)" ] ||
    echo "without estimates: this engine has no dry --operations" >&2
  cp "$root"/ci/gpu_kit/{run.sh,session.sh,steps.sh,apart.awk,decide.awk,expected.tsv,changed_tests.tsv,state.tsv} "$out/"
  printf '%s\n' "${options[@]}" >"$out/options.txt"
  printf 'commit %s\nengine %s\nmade %s\n' "$(git -C "$root" describe --always --dirty 2>/dev/null || echo unknown)" \
    "$(git -C "$root" rev-parse --short=12 HEAD:engine 2>/dev/null || echo unknown)" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" \
    >"$out/kit.txt"
  du -sh "$out"
}

verb=${1:-}
[ $# -eq 0 ] || shift
case $verb in
  --help | -h) sed -n '2,/^set -eu/{/^set -eu/d; s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" ;;
  build)
    out="" tree="" hardware=""
    while [ $# -gt 0 ]; do
      case $1 in
        --from) tree=$(readlink -f "${2:?--from needs a build tree}"); shift ;;
        --hardware) hardware=${2:?--hardware needs a name}; shift ;;
        -*) usage "what is '$1'?" ;;
        *) [ -z "$out" ] || usage "one folder is made, not '$1' too."; out=$1 ;;
      esac
      shift
    done
    [ -n "$out" ] || usage "build needs a folder."
    build "$out" "$tree" "$hardware"
    ;;
  report) exec python3 "$root/ci/gpu_kit/report.py" "$@" ;;
  *) usage "what is '$verb'?" ;;
esac
