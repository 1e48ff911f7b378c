// Runs the fuzz targets without libFuzzer, with any compiler: mutations of a corpus, numbered by seeds.
//
//   file_fuzzer FORMAT|all [--seconds S] [--count N] [--seed FIRST] [--corpus tests/fuzz]
//
// Input number n is a function of n and the corpus alone. The number under way is kept in the file
// fuzz-FORMAT.seed, for a crash that leaves no words: --seed N --count 1 runs it again, and fuzz-FORMAT.input
// holds what failed with an exception.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstring>

#include "tests/fuzz/formats.h"
#include "tidemark/base/stopwatch.h"

namespace {

using tidemark::Stopwatch;
using tidemark::testing::FuzzFormat;

struct Options {
  std::string format = "all", corpus = "tests/fuzz";
  double seconds = 60;
  std::uint64_t count = ~std::uint64_t{0}, seed = 0;
};

// False when a bug was found.
bool fuzz(const FuzzFormat& format, const Options& options) {
  tidemark::testing::Mutator mutator(tidemark::testing::seeds_of(format, options.corpus), format.words);
  const int under_way =
      ::open(fmt::format("fuzz-{}.seed", format.name).c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  const Stopwatch watch;
  std::uint64_t done = 0;
  for (; done < options.count; ++done) {
    if (watch.seconds() > options.seconds) break;
    const std::string number = fmt::format("{:<20}\n", options.seed + done);
    if (::pwrite(under_way, number.data(), number.size(), 0) < 0) return false;
    const std::string input = mutator.next(options.seed + done);
    try {
      format.target(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
    } catch (const std::exception& error) {
      std::ofstream(fmt::format("fuzz-{}.input", format.name), std::ios::binary) << input;
      fmt::print("{}: seed {}: {}\n", format.name, options.seed + done, error.what());
      return false;
    }
  }
  ::close(under_way);
  fmt::print("{}: {} inputs from seed {} on, no bug\n", format.name, done, options.seed);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (argc > 1) options.format = argv[1];
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--seconds") options.seconds = std::stod(argv[i + 1]);
    if (name == "--count") options.count = std::stoull(argv[i + 1]);
    if (name == "--seed") options.seed = std::stoull(argv[i + 1]);
    if (name == "--corpus") options.corpus = argv[i + 1];
  }
  bool good = true, known = false;
  for (const FuzzFormat& format : tidemark::testing::fuzz_formats()) {
    if (options.format != "all" && options.format != format.name) continue;
    known = true;
    good = fuzz(format, options) && good;
  }
  if (!known) fmt::print(stderr, "no format '{}'\n", options.format);
  return good && known ? 0 : 1;
}
