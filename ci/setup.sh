# shellcheck shell=bash disable=SC2154
# Packages and the Release build: functions for ./perfbench and ci/test.sh, which source this file with `root` set to
# the repository. Everything said goes to stderr: stdout belongs to the command that is run.

# missing_packages GROUP...: lines "name<TAB>what for" of ci/packages.txt that this system has not installed.
missing_packages() {
  local group debian fedora arch reason name
  local installed=
  [ "$package_system" != debian ] || installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' 2>/dev/null)
  while read -r group debian fedora arch reason; do
    [[ " $* " == *" $group "* ]] || continue
    case $package_system in
      debian) name=$debian; [[ $'\n'$installed$'\n' != *$'\n'"installed $name"$'\n'* ]] || continue ;;
      fedora) name=$fedora; [ "$name" != - ] || continue; ! rpm -q --quiet --whatprovides "$name" || continue ;;
      arch) name=$arch; [ "$name" != - ] || continue; ! pacman -Qq "$name" >/dev/null 2>&1 || continue ;;
    esac
    printf '%s\t%s\n' "$name" "$reason"
  done <"$root/ci/packages.txt"
}

find_package_system() {
  package_system=unknown
  if command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; then
    package_system=debian
  elif command -v dnf >/dev/null && command -v rpm >/dev/null; then
    package_system=fedora
  elif command -v pacman >/dev/null; then
    package_system=arch
  fi
}

# as_root COMMAND...: runs it as root, through sudo where we are not.
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# install_packages NAME...: by the system's own package manager.
install_packages() {
  local -a update=() install
  local tool
  case $package_system in
    debian)
      tool=apt-get
      update=(apt-get update -qq)
      install=(env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends
               -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 "$@") ;;
    fedora) tool=dnf; install=(dnf install -y -q "$@") ;;
    arch) tool=pacman; install=(pacman -S --needed --noconfirm "$@") ;;
  esac
  local log=$root/build/packages.log
  mkdir -p "$root/build"
  echo "perfbench: installing them with $tool (log: $log)" >&2
  # An update may fail for one mirror of many; what matters is whether the packages install.
  [ ${#update[@]} = 0 ] || as_root "${update[@]}" >"$log" 2>&1 || true
  as_root "${install[@]}" >>"$log" 2>&1 || { tail -n 20 "$log" >&2; return 1; }
}

# require_packages install|report GROUP...: returns when all packages are there; installs them, or ends with exit code 3.
require_packages() {
  local mode=$1; shift
  local list name reason
  find_package_system
  if [ "$package_system" = unknown ]; then return 0; fi  # the configure step names what it does not find
  list=$(missing_packages "$@")
  [ -n "$list" ] || return 0
  local -a names=()
  echo "perfbench: this system lacks packages:" >&2
  while IFS=$'\t' read -r name reason; do
    names+=("$name")
    printf '  %-24s %s\n' "$name" "$reason" >&2
  done <<<"$list"
  if [ "$mode" = report ]; then
    echo "perfbench: nothing was installed (--no-install)" >&2
    exit 3
  fi
  if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
    echo "perfbench: installing needs root and there is no sudo here; have an administrator install: ${names[*]}" >&2
    exit 3
  fi
  if ! install_packages "${names[@]}"; then
    echo "perfbench: the packages could not be installed; install them yourself: ${names[*]}" >&2
    exit 4
  fi
}

# explain_failed_configure: for systems whose package names this project does not know.
explain_failed_configure() {
  [ "$package_system" = unknown ] || return 0
  echo "perfbench: configuring failed; these are the packages needed, as Debian names them:" >&2
  local group debian fedora arch reason
  while read -r group debian fedora arch reason; do
    [ "$group" != run ] || printf '  %-24s %s\n' "$debian" "$reason" >&2
  done <"$root/ci/packages.txt"
}

# quietly LOG COMMAND...: the command's output on a terminal, else in a file of which a failure shows the end.
quietly() {
  local log=$1; shift
  if [ -t 2 ]; then "$@" >&2; else "$@" >"$log" 2>&1 || { tail -n 40 "$log" >&2; return 1; }; fi
}

# The programs that ./perfbench builds. `cmake --install` needs no other file of the tree (stage install).
release_programs="bin/perfbench bin/perfbench-adapter bin/perfbench-engine bin/perfbench-engine-inject"

# build_release: the executables of the tree build/cpu. A tree that has tests keeps them.
build_release() {
  local tree=$root/build/cpu
  mkdir -p "$tree"
  if [ ! -e "$tree/build.ninja" ]; then
    echo "perfbench: building it (Release) in $tree; the first time takes some minutes" >&2
    local -a options=(-DPERFBENCH_TESTS=OFF -DPERFBENCH_BENCHMARKS=OFF)
    # A GPU is used if the toolkit is there as well; without one, what nvcc compiles would never run.
    [ ! -e /dev/nvidiactl ] || options+=(-DPERFBENCH_CUDA=AUTO -DPERFBENCH_CUDA_ARCHITECTURES=native)
    # As ci/test.sh will, which then need not compile it again.
    [ -z "${CI:-}" ] || options+=(-DPERFBENCH_WERROR=ON)
    quietly "$tree/configure.log" cmake -S "$root" --preset cpu "${options[@]}" ||
      { explain_failed_configure; return 1; }
  fi
  # shellcheck disable=SC2086 # names without spaces
  quietly "$tree/build.log" ninja -C "$tree" $release_programs
}
