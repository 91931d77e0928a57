# The installed tree runs without the checkout. The commands run in a mount namespace in which the checkout, with its build
# tree, is an empty folder. If the system does not allow that, they run under strace, which shows the files that they open.
set -eu
root=$PWD
prefix=$(mktemp -d)
tree=$(mktemp -d)
trap 'rm -rf "$prefix" "$tree"' EXIT

# A tree as ./perfbench leaves it: configured, with the programs that build_release builds and nothing else.
. ci/setup.sh
cmake -S . -B "$tree" --preset cpu -DPERFBENCH_TESTS=OFF -DPERFBENCH_BENCHMARKS=OFF >"$tree/configure.log"
mkdir -p "$tree/bin"
for program in $release_programs; do cp "build/cpu/$program" "$tree/bin/"; done
cmake --install "$tree" --prefix "$prefix"
test ! -e "$tree/harness/cli/printed"

namespace=(unshare --mount)
[ "$(id -u)" = 0 ] || namespace+=(--user --map-root-user)
hide='mount -t tmpfs none "$1" && shift && "$@"'

without_checkout() {
  if "${namespace[@]}" bash -c "$hide" - "$root" true 2>/dev/null; then
    "${namespace[@]}" bash -c "$hide" - "$root" "$@"
    return
  fi
  strace -f -qq -e trace=%file -e status=successful -o "$prefix/opened" "$@"
  if grep -F "\"$root/" "$prefix/opened"; then
    echo "the installed tree uses the checkout, see above"
    return 1
  fi
}

cd "$prefix"
test -d share/perfbench/workloads/models
cmp share/doc/perfbench/LICENSE "$root/LICENSE"
diff -r share/doc/perfbench/docs "$root/docs"
bash -n share/bash-completion/completions/perfbench
if command -v help2man >/dev/null; then grep -q '^perfbench alerts list' share/man/man1/perfbench-alerts-list.1; fi
without_checkout bash -euc '
  bin/perfbench --version
  bin/perfbench plan share/perfbench/matrices/quickstart.yaml
  bin/perfbench plan matrices/quickstart.yaml   # of its own data files
  bin/perfbench sweep matrices/quickstart.yaml --only "model=gpt-mini" --only attention=flash --only remat=none
  bin/perfbench-engine env
'

# The Debian package of the same tree: what it holds and depends on, and that it runs from wherever it is unpacked.
if command -v dpkg-shlibdeps >/dev/null && command -v file >/dev/null; then
  cd "$tree"
  cpack -G DEB --config CPackConfig.cmake >package.log || { cat package.log; exit 1; }
  package=$(echo perfbench_*.deb)
  dpkg --contents "$package" >contents
  for part in bin/perfbench bin/perfbench-engine bin/perfbench-adapter share/bash-completion/completions/perfbench \
              share/doc/perfbench/README.md share/perfbench/matrices/quickstart.yaml \
              share/perfbench/workloads/models/gpt-mini.yaml; do
    grep -q " ./usr/$part\$" contents || { echo "$package lacks usr/$part"; exit 1; }
  done
  for needed in libsqlite3-0 libyaml-cpp openmpi-bin; do
    dpkg --field "$package" Depends | grep -q "$needed" || { echo "$package does not depend on $needed"; exit 1; }
  done
  dpkg -x "$package" "$prefix/unpacked"
  cd "$prefix"
  without_checkout unpacked/usr/bin/perfbench plan quickstart
fi
