# ./perfbench in a small checkout of its own, on a system made of scripts: what it says is missing, what it installs with
# which command, that it builds once, and that it passes arguments on.
# usage: start_script_test.sh REPOSITORY
set -u
repository=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
bash_path=$(command -v bash)

fake() { # fake NAME BODY: a command of the made-up system
  printf '#!%s\n%s\n' "$bash_path" "$2" >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}

# A system with only the tools that the start script may assume, where nothing is installed.
fresh_system() {
  rm -rf "${work:?}"/*
  mkdir -p "$work"/{bin,repo/ci/cmake,repo/engine,repo/harness,repo/reports,repo/workloads}
  local tool
  for tool in find readlink mkdir flock touch mv cat tail env chmod; do ln -s "$(command -v $tool)" "$work/bin/$tool"; done
  cp "$repository/perfbench" "$work/repo/"
  cp "$repository/ci/setup.sh" "$work/repo/ci/"
  printf 'run g++ gcc-c++ gcc compiles\nrun cmake cmake cmake describes the build\ntest gtest g g tests\n' \
    >"$work/repo/ci/packages.txt"
  touch "$work/repo/CMakeLists.txt" "$work/repo/CMakePresets.json"
  : >"$work/installed"
  fake dpkg-query "cat '$work/installed'"
  fake apt-get "echo \"apt-get \$*\" >>'$work/calls'
    if [ \"\$1\" = install ]; then for p in \"\$@\"; do echo \"installed \$p\" >>'$work/installed'; done; fi"
  fake cmake "echo configure >>'$work/calls'; mkdir -p '$work/repo/build/cpu'; touch '$work/repo/build/cpu/build.ninja'"
  fake ninja "echo build >>'$work/calls'; env >'$work/environment'; mkdir -p '$work/repo/build/cpu/bin'
    for program in perfbench perfbench-adapter perfbench-engine perfbench-engine-inject; do
      printf '#!$bash_path\necho \"ran %s: \$*\"\n' \$program >'$work/repo/build/cpu/bin/'\$program
      chmod +x '$work/repo/build/cpu/bin/'\$program
    done"
  fake id 'echo 0'
}

start() { # start ARGS...: output in $output, exit code in $code, calls of tools in $calls
  : >"$work/calls"
  output=$(cd / && PATH=$work/bin "$bash_path" "${entry:-$work/repo/perfbench}" "$@" 2>"$work/stderr")
  code=$?
  errors=$(cat "$work/stderr")
  calls=$(cat "$work/calls")
}

check() { # check NAME CONDITION...: the condition is a command
  local name=$1; shift
  if ! "$@"; then
    printf 'FAILED %s\n code: %s\n output: %s\n stderr: %s\n calls: %s\n' "$name" "$code" "$output" "$errors" "$calls"
    failures=$((failures + 1))
  fi
}
has() { [[ $1 == *"$2"* ]]; }
lacks() { [[ $1 != *"$2"* ]]; }

fresh_system
start --no-install sweep x.yaml
check '--no-install ends with 3' [ "$code" -eq 3 ]
check '--no-install names a missing package and what it is for' has "$errors" 'cmake                    describes the build'
check '--no-install does not ask for what only tests need' lacks "$errors" gtest
check '--no-install starts nothing' [ -z "$calls" ]

fresh_system
echo 'installed g++' >"$work/installed"
start sweep 'a b.yaml' --flag
check 'only what is missing is installed' has "$calls" 'DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 cmake'
check 'it says what it installs' has "$errors" 'describes the build'
check 'what is installed is not named' lacks "$errors" 'compiles'
check 'then it configures, builds' has "$calls" $'configure\nbuild'
check 'and passes the arguments on' [ "$output" = 'ran perfbench: sweep a b.yaml --flag' ]
check 'with the exit code of the program' [ "$code" -eq 0 ]

start report
check 'a second start installs, configures and builds nothing' [ -z "$calls" ]
check 'and says nothing of its own' [ -z "$errors" ]

ln -s "$work/repo/perfbench" "$work/link"
entry=$work/link
start report --no-install
unset entry
check 'it works through a symbolic link' [ "$output" = 'ran perfbench: report --no-install' ]

touch -d '+2 seconds' "$work/repo/engine/new.cpp"
start report
check 'a new source is built, without configuring by hand' [ "$calls" = build ]

fresh_system
printf 'installed g++\ninstalled cmake\n' >"$work/installed"
export PERFBENCH_WEBHOOK_TOKEN=secret
start report
unset PERFBENCH_WEBHOOK_TOKEN
check 'a build sees no secret' lacks "$(cat "$work/environment")" PERFBENCH_WEBHOOK_TOKEN
check 'and is a build' has "$(cat "$work/environment")" PATH=

fresh_system
fake id 'echo 1000'
start report
check 'without root and sudo it says who can help' has "$errors" 'have an administrator install: g++ cmake'
check 'and ends with 3' [ "$code" -eq 3 ]

fake sudo "echo \"sudo \$*\" >>'$work/calls'; \"\$@\""
start report
check 'with sudo it installs through it' has "$calls" 'sudo apt-get update -qq'
check 'and goes on' [ "$output" = 'ran perfbench: report' ]

fresh_system
fake apt-get 'echo "E: no such package"; exit 100'
start report
check 'a failed installation ends with 4' [ "$code" -eq 4 ]
check 'and shows what the package manager said' has "$errors" 'E: no such package'

fresh_system
rm "$work/bin/apt-get"
fake dnf "echo \"dnf \$*\" >>'$work/calls'"
fake rpm 'exit 1'
start --no-install report
check 'other systems call packages by other names' has "$errors" gcc-c++

fresh_system
printf 'installed g++\ninstalled cmake\n' >"$work/installed"
fake ninja 'echo "error: expected ;"; exit 1'
start report
check 'a failed build ends with 4' [ "$code" -eq 4 ]
check 'and shows the end of its output' has "$errors" 'error: expected ;'

fresh_system
printf 'installed g++\ninstalled cmake\n' >"$work/installed"
entry=$work/repo/perfbench
for n in 1 2 3 4; do (cd / && PATH=$work/bin "$bash_path" "$entry" "$n" >"$work/out.$n" 2>/dev/null) & done
wait
calls=$(cat "$work/calls")
output=$(cat "$work"/out.*)
check 'of several started at once one builds' [ "$(grep -c build "$work/calls")" = 1 ]
check 'and all run' [ "$output" = $'ran perfbench: 1\nran perfbench: 2\nran perfbench: 3\nran perfbench: 4' ]

[ $failures -eq 0 ]
