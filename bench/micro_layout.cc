// The packer on training-like sets of growing size: seconds and height over the bound. With a folder of
// instances (*.csv: id, lower, upper, size) as argument, those too.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/training_buffers.h"
#include "tidemark/base/stopwatch.h"
#include "tidemark/solve/pack/csv.h"
#include "tidemark/solve/pack/pack.h"

namespace {

using namespace tidemark;
using tidemark::testing::training_buffers;
using tidemark::testing::TrainingShape;

constexpr std::int64_t work = 40'000'000'000;

void measure(const std::string& name, const std::vector<PackItem>& items) {
  const Stopwatch watch;
  const PackResult result = pack(items, {.work = work});
  const double seconds = watch.seconds();
  fmt::print("{:<24} {:>8} {:>14} {:>14} {:>9.5f} {:>8} {:>9.3f}\n", name, items.size(), result.height,
             result.lower_bound, static_cast<double>(result.height) / static_cast<double>(result.lower_bound),
             result.proved_optimal ? "yes" : "no", seconds);
}

}  // namespace

int main(int argc, char** argv) {
  fmt::print("{:<24} {:>8} {:>14} {:>14} {:>9} {:>8} {:>9}\n", "set", "buffers", "peak", "bound", "ratio",
             "optimal", "seconds");
  if (argc > 1) {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(argv[1]))
      if (entry.path().extension() == ".csv") paths.push_back(entry.path().string());
    std::sort(paths.begin(), paths.end());
    for (const std::string& path : paths)
      measure(std::filesystem::path(path).filename().string(), read_pack_table(path).items);
  }
  for (int count : {1'000, 3'000, 10'000, 20'000, 60'000}) {
    measure("transformer", training_buffers(TrainingShape::transformer, count, 1));
    measure("convnet", training_buffers(TrainingShape::convnet, count, 1));
    measure("unet", training_buffers(TrainingShape::unet, count, 1));
    measure("mixed", training_buffers(TrainingShape::mixed, count, 1));
  }
  return 0;
}
