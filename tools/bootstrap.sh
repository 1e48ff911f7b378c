# shellcheck shell=sh
# Sourced by ./run, ./test and .ci/*: installs what the build needs, configures and builds a preset, runs its suite.
# POSIX sh. Everything that changes the machine is printed before it runs.

PACKAGES="g++ cmake ninja-build python3 libfmt-dev nlohmann-json3-dev libhwy-dev libopenblas-dev \
libxxhash-dev liblz4-dev zlib1g-dev liburing-dev libcli11-dev libgtest-dev libgmock-dev libbenchmark-dev"

say() { printf '== %s\n' "$*"; }
fail() { printf '\n%s: FAILED: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

what_to_install() {
  cat >&2 <<'LIST'
Tidemark needs, under whatever names your system gives them:
  g++ 12 or newer (or clang 16 or newer), CMake 3.25 or newer, Ninja, Python 3
  fmt 9, nlohmann-json 3.11, Highway 1.0 (hwy), OpenBLAS (with headers), xxHash 0.8 (header), LZ4 1.9, zlib 1.2, liburing (optional)
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
  say "packages: installing$missing"
  # shellcheck disable=SC2086
  apt_install $missing || fail "apt-get could not install:$missing"
}

# apt_install PACKAGE...: as root or with sudo.
apt_install() {
  as_root=""
  if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
      say "packages are missing, and this is neither root nor is there sudo. As root: apt-get install $*"
      return 1
    fi
    as_root="sudo"
  fi
  $as_root apt-get update -qq || say "apt-get update failed; trying with the lists that are here"
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# find_clang: the name of a clang of at least version 16, or nothing.
find_clang() {
  for name in clang++-16 clang++-17 clang++-18 clang++-19 clang++-20 clang++-21 clang++; do
    command -v "$name" >/dev/null 2>&1 || continue
    major=$("$name" -dumpversion | cut -d. -f1)
    if [ "$major" -ge 16 ]; then
      echo "$name"
      return
    fi
  done
}

# versions: what the build is about to use.
versions() {
  say "machine: $(uname -srm), $(nproc 2>/dev/null || echo unknown) cores, $(awk '/MemTotal/ { printf "%.1f GiB", $2 / 1048576 }' /proc/meminfo 2>/dev/null || true)"
  for tool in "${CXX:-c++}" cmake ninja python3; do
    printf '   %s: %s\n' "$tool" "$("$tool" --version 2>/dev/null | head -n 1 || true)"
  done
  if command -v dpkg-query >/dev/null 2>&1; then
    # shellcheck disable=SC2086
    dpkg-query -W -f='   ${Package} ${Version}\n' $PACKAGES 2>/dev/null || true
  fi
}

# One compiler takes up to 1.5 GB, so a machine with many cores and little memory gets fewer jobs.
jobs() {
  cores=$(nproc 2>/dev/null || echo 2)
  by_memory=$(awk '/MemAvailable/ { n = int($2 / 1500000); print (n > 0 ? n : 1) }' /proc/meminfo 2>/dev/null || true)
  if [ "$cores" -lt "${by_memory:-2}" ]; then echo "$cores"; else echo "${by_memory:-2}"; fi
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

# suite PRESET: runs ctest, shows its output, adds PRESET to $failed when something failed.
failed=""
suite() {
  say "ctest: $1"
  log="build/$1.ctest.log"
  rm -f "build/$1.failed"
  { ctest --preset "$1" -j "$(nproc 2>/dev/null || echo 2)" 2>&1 || : >"build/$1.failed"; } | tee "$log"
  if [ -e "build/$1.failed" ]; then
    rm -f "build/$1.failed"
    failed="$failed $1"
  fi
}

# failures PRESET: what the tests that failed printed, the first 40 lines of each. With -j ctest prints that in one piece,
# between the line of the test and that of another.
failures() {
  awk '/^ *Start +[0-9]+: / || /^ *[0-9]+\/[0-9]+ Test +#/ { shown = 0 }
       /^ *[0-9]+\/[0-9]+ Test +#/ && !/ Passed +[0-9.]+ sec$/ && !/\*\*\*(Skipped|Not Run)/ { shown = 41 }
       /^[0-9]+% tests passed/ { exit }
       shown > 0 { print; --shown }' "build/$1.ctest.log" 2>/dev/null || true
}

# result PRESET: what the suite was compiled with, then ctest's closing line; what failed, if anything did.
result() {
  printf '%-7s %s\n' "$1" "$(cat "build/$1/configuration.txt" 2>/dev/null || echo 'not configured')"
  printf '%-7s %s\n' "$1" "$(grep -E '^[0-9]+% tests passed' "build/$1.ctest.log" 2>/dev/null || echo 'no result')"
  failures "$1"
}
