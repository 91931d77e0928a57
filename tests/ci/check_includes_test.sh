# ci/check_includes.py finds each kind of planted violation, and none in the real tree.
# usage: check_includes_test.sh REPOSITORY
set -u
repository=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# The smallest tree that the rules apply to.
fresh_tree() {
  rm -rf "$work/tree"
  mkdir -p "$work/tree"/{ci,engine/core,engine/ops/cpu,engine/ops/cuda,harness/{app,store},workloads/spec}
  cat >"$work/tree/ci/include_rules.txt" <<'RULES'
workloads/spec:
engine/core: workloads/spec
engine/ops: engine/core
engine/ops/cpu: engine/ops
engine/ops/cuda: engine/ops
harness/store: workloads/spec
harness/app: harness/store
<sqlite3.h>: harness/store/sqlite.cpp
"harness/store/sqlite.h": harness/store/*
generated: made.h
RULES
  echo '#include "workloads/spec/run.h"' >"$work/tree/engine/core/tensor.h"
  echo '#pragma once' >"$work/tree/workloads/spec/run.h"
  printf '#include "engine/core/tensor.h"\n#include "workloads/spec/run.h"\n' >"$work/tree/engine/ops/ops.h"
  printf '#include "engine/ops/ops.h"\n#include "made.h"\n' >"$work/tree/engine/ops/cpu/matmul.cpp"
  echo '#pragma once' >"$work/tree/engine/ops/cuda/matmul.h"
  echo '#include <sqlite3.h>' >"$work/tree/harness/store/sqlite.cpp"
}

# expect NAME CODE TEXT: runs the checker on the current tree and compares its result.
expect() {
  local name=$1 code=$2 text=$3 output got
  output=$(python3 "$repository/ci/check_includes.py" "$work/tree" 2>&1)
  got=$?
  if [ $got -ne "$code" ] || [[ $output != *"$text"* ]]; then
    printf 'FAILED %s: expected code %d and "%s", got code %d and:\n%s\n' "$name" "$code" "$text" $got "$output"
    failures=$((failures + 1))
  fi
}

fresh_tree
expect 'a tree that keeps the rules passes' 0 ''

fresh_tree
echo '#include "engine/core/tensor.h"' >"$work/tree/harness/store/store.cpp"
expect 'the harness may not include the engine' 1 \
  'harness/store/store.cpp:1: harness/store must not include engine/core ("engine/core/tensor.h")'

fresh_tree
printf '\n#include "engine/ops/ops.h"\n' >"$work/tree/engine/core/shape.h"
expect 'an arrow may not be walked backwards' 1 'engine/core/shape.h:2: engine/core must not include engine/ops'

fresh_tree
echo '#include "engine/ops/cuda/matmul.h"' >>"$work/tree/engine/ops/cpu/matmul.cpp"
expect 'backends may not include each other' 1 'engine/ops/cpu must not include engine/ops/cuda'

fresh_tree
printf '\nvoid f() { fmt::print("{}", name); }  // not std::puts(\n' >"$work/tree/harness/store/ingest.cpp"
expect 'the harness prints through one door' 1 \
  'harness/store/ingest.cpp:2: fmt::print prints text as it is; use reports/render/format/print.h'

fresh_tree
printf 'void f() { std::fputs(name, stderr); std::snprintf(b, 1, name); }\n' >"$work/tree/harness/store/ingest.cpp"
expect 'nor may it write to a stream itself' 1 'harness/store/ingest.cpp:1: std::fputs prints text as it is'

fresh_tree
printf 'using a::Used;\nusing a::Unused;  // not Unused\nUsed used;\n' >"$work/tree/harness/store/ingest.cpp"
expect 'a using is used' 1 'harness/store/ingest.cpp:2: nothing here uses Unused'
printf 'using a::Used;\nUsed used;\n' >"$work/tree/harness/store/ingest.cpp"
expect 'and one that is stays' 0 ''

fresh_tree
echo '#include <sqlite3.h>' >"$work/tree/harness/store/ingest.cpp"
expect 'a vendor header stays in the files named for it' 1 \
  'harness/store/ingest.cpp:1: <sqlite3.h> may be included only by harness/store/sqlite.cpp'

fresh_tree
echo '#pragma once' >"$work/tree/harness/store/sqlite.h"
echo '#include "harness/store/sqlite.h"' >"$work/tree/harness/app/prune.cpp"
expect 'and so does a header of the project' 1 \
  'harness/app/prune.cpp:1: "harness/store/sqlite.h" may be included only by harness/store/*'

fresh_tree
printf '%s\n' '<!-- rooms: written by ci/check_includes.py --table --write -->' '<!-- end of rooms -->' \
  >"$work/tree/ARCHITECTURE.md"
expect 'a document shows the rooms as they are' 1 'its rooms are not those of the tree'
python3 "$repository/ci/check_includes.py" "$work/tree" --table --write >"$work/table"
expect 'which the script writes' 0 ''
grep -q '^| 2 | `engine/ops` | `engine/core` |$' "$work/table" || { echo 'FAILED the floor of engine/ops'; failures=$((failures + 1)); }

fresh_tree
echo '#include "workloads/spec/model.h"' >"$work/tree/workloads/spec/run.h"
echo '#include "workloads/spec/run.h"' >"$work/tree/workloads/spec/model.h"
expect 'headers may not include each other in a circle' 1 \
  'workloads/spec/run -> workloads/spec/model -> workloads/spec/run'

fresh_tree
printf '#include "workloads/spec/model.h"\n' >"$work/tree/workloads/spec/run.cpp"
printf '#include "workloads/spec/run.h"\n' >"$work/tree/workloads/spec/model.h"
expect 'a circle through a source file is a circle too' 1 'a circle of includes'

fresh_tree
echo '#include "spec/run.h"' >"$work/tree/engine/core/shape.h"
expect 'quoted includes start at the root' 1 '"spec/run.h" is no file of this repository'

fresh_tree
mkdir "$work/tree/engine/novel"
echo '#include "engine/core/tensor.h"' >"$work/tree/engine/novel/idea.h"
expect 'a folder without a rule is refused' 1 'no rule for the folder of engine/novel/idea.h'

fresh_tree
printf 'namespace a::b {\nstruct Places {\n  int x;\n};\n}  // namespace a::b\n' >"$work/tree/workloads/spec/model.h"
printf 'namespace a::b {\nstruct Places;\nnamespace {\nclass Places final : Base {};\n}  // namespace\n}  // namespace a::b\n' \
  >"$work/tree/harness/store/ingest.cpp"
expect 'a type may be declared anywhere, and another be called so where nobody else sees it' 0 ''
printf 'namespace a::b {\nclass Places final : Base {};\n}  // namespace a::b\n' >"$work/tree/harness/store/ingest.cpp"
expect 'two types have two names' 1 'workloads/spec/model.h:2: a::b::Places is defined in harness/store/ingest.cpp:2 too'

fresh_tree
yes '//' | head -601 >"$work/tree/engine/core/long.h"
expect 'a long file is refused' 1 'engine/core/long.h: 601 lines'

fresh_tree
mkdir "$work/tree/tests"
echo 'print("equal")' >"$work/tree/tests/statistics.py"
expect 'a script beside others may not take the place of a standard module' 1 \
  'tests/statistics.py: Python has a module of this name'

fresh_tree
mkdir -p "$work/tree/ci/json"
touch "$work/tree/ci/json/__init__.py"
expect 'nor may a package' 1 'ci/json/__init__.py: Python has a module of this name'

fresh_tree
sed -i 's#^workloads/spec:#workloads/spec: engine/ops#' "$work/tree/ci/include_rules.txt"
expect 'rules that go in a circle are refused' 1 'a circle: '

[ $failures -eq 0 ]
