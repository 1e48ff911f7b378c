# shellcheck shell=sh
# Sourced by ./run and ./test: installs what the build needs, configures and builds a preset.
# POSIX sh. Everything that changes the machine is printed before it runs.

PACKAGES="g++ cmake ninja-build python3 libfmt-dev nlohmann-json3-dev libhwy-dev libopenblas-dev \
libxxhash-dev liburing-dev libcli11-dev libgtest-dev libgmock-dev libbenchmark-dev"

say() { printf '== %s\n' "$*"; }
fail() { printf '\n%s: FAILED: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

what_to_install() {
  cat >&2 <<'LIST'
Tidemark needs, under whatever names your system gives them:
  g++ 12 or newer (or clang 16 or newer), CMake 3.25 or newer, Ninja, Python 3
  fmt 9, nlohmann-json 3.11, Highway 1.0 (hwy), OpenBLAS (with headers), xxHash 0.8 (header), liburing (optional)
  CLI11 2, GoogleTest 1.12 with GoogleMock, Google Benchmark (optional)
LIST
}

# Installs the missing Debian packages. Asks dpkg first, so that a second run touches nothing.
install_packages() {
  if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg-query >/dev/null 2>&1; then
    say "no apt-get on this machine: nothing is installed for you"
    for tool in cmake ninja python3; do
      if ! command -v "$tool" >/dev/null 2>&1; then
        what_to_install
        fail "there is no apt-get to install with, and '$tool' is missing"
      fi
    done
    return
  fi
  missing=""
  for package in $PACKAGES; do
    state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing="$missing $package"
  done
  if [ -z "$missing" ]; then
    say "packages: all installed"
    return
  fi
  as_root=""
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null 2>&1 ||
      fail "packages are missing, and this is neither root nor is there sudo. As root: apt-get install$missing"
    as_root="sudo"
  fi
  say "packages: installing$missing"
  $as_root apt-get update -qq || say "apt-get update failed; trying with the lists that are here"
  # shellcheck disable=SC2086
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null ||
    fail "apt-get could not install:$missing"
}

# One compiler takes up to 1.5 GB, so a machine with many cores and little memory gets fewer jobs.
jobs() {
  cores=$(nproc 2>/dev/null || echo 2)
  by_memory=$(awk '/MemAvailable/ { n = int($2 / 1500000); print (n > 0 ? n : 1) }' /proc/meminfo 2>/dev/null || echo 2)
  [ "$cores" -lt "$by_memory" ] && echo "$cores" || echo "$by_memory"
}

# build PRESET [TARGET...]
build() {
  preset=$1
  shift
  say "configure: cmake --preset $preset"
  log="build/$preset.configure.log"
  mkdir -p build
  if ! cmake --preset "$preset" >"$log" 2>&1; then
    cat "$log" >&2
    what_to_install
    fail "cmake could not configure the preset '$preset'"
  fi
  say "build: $preset${*:+ ($*)}"
  if [ $# -eq 0 ]; then set -- all; fi
  cmake --build "build/$preset" -j "$(jobs)" --target "$@" || fail "the $preset build"
}
