#include "tidemark/cuda/trial.h"

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "tidemark/base/stopwatch.h"
#include "tidemark/cuda/product_choices.h"

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::cuda {
namespace {

constexpr double round_seconds = 2e-3;  // long next to what starting and waiting take
constexpr int trial_rounds = 3, most_runs = 200;

std::vector<std::uint64_t> some_numbers(DType dtype, std::size_t words) {
  std::uint64_t kept = 0, exponent = 0;
  switch (dtype) {
    case DType::bf16:
      kept = 0x807f807f807f807f, exponent = 0x3f003f003f003f00;
      break;
    case DType::f16:
      kept = 0x83ff83ff83ff83ff, exponent = 0x3800380038003800;
      break;
    case DType::f64:
      kept = 0x800fffffffffffff, exponent = 0x3fe0000000000000;
      break;
    default:
      kept = 0x807fffff807fffff, exponent = 0x3f0000003f000000;
      break;
  }
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> numbers(words);
  for (std::uint64_t& number : numbers) number = (random() & kept) | exponent;
  return numbers;
}

// Of one run; infinite where it does not run.
double trial_seconds(const Stream& stream, const std::function<bool()>& begin) {
  double once = 0;
  for (int runs = 1, round = 0; round < 2; ++round) {  // a short one first, which says how many make a round
    const Stopwatch watch;
    for (int i = 0; i < runs; ++i) {
      if (begin()) continue;
      stream.wait();  // for those before it: their memory is about to be given back
      return std::numeric_limits<double>::infinity();
    }
    stream.wait();
    once = watch.seconds() / runs;
    runs = static_cast<int>(std::clamp(round_seconds / once, 1.0, static_cast<double>(most_runs)));
  }
  return once;
}

}  // namespace

void fill_with_numbers(const Stream& stream, CUdeviceptr at, std::int64_t bytes, DType dtype) {
  const std::vector<std::uint64_t> numbers = some_numbers(dtype, 1 << 16);
  const auto first = std::min<std::int64_t>(bytes, static_cast<std::int64_t>(numbers.size() * 8));
  stream.copy_to_device(at, reinterpret_cast<const std::byte*>(numbers.data()), first);
  for (std::int64_t done = first; done < bytes; done *= 2)
    stream.copy(at + static_cast<CUdeviceptr>(done), at, std::min(done, bytes - done));
  stream.wait();
}

std::size_t fastest_in(const Stream& stream, std::size_t count,
                       const std::function<bool(std::size_t)>& begin) {
  std::vector<double> least(count, std::numeric_limits<double>::infinity());
  trial_seconds(stream, [&] { return begin(0); });  // the GPU's clock rises
  for (int round = 0; round < trial_rounds; ++round) {
    for (std::size_t i = 0; i < count; ++i)
      least[i] = std::min(least[i], trial_seconds(stream, [&] { return begin(i); }));
  }
  return fastest(least);
}

}  // namespace tidemark::cuda

#endif
