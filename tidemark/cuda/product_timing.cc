#include "tidemark/cuda/product_timing.h"

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "tidemark/base/error.h"
#include "tidemark/base/stopwatch.h"

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::cuda {
namespace {

constexpr double round_seconds = 2e-3;  // long next to what starting and waiting take
constexpr int rounds = 3, most_runs = 200;

class DeviceMemory {
 public:
  DeviceMemory(const Context& context, std::int64_t bytes)
      : context_(context), memory_(context.allocate(bytes)) {}
  ~DeviceMemory() { context_.release(memory_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  CUdeviceptr at() const { return memory_; }

 private:
  const Context& context_;
  const CUdeviceptr memory_;
};

// Random numbers of either sign between 1/2 and 1: a GPU is faster on zeros, which need less power.
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

void fill(const Stream& stream, CUdeviceptr at, std::int64_t bytes, DType dtype) {
  const std::vector<std::uint64_t> numbers = some_numbers(dtype, 1 << 16);
  const auto first = std::min<std::int64_t>(bytes, static_cast<std::int64_t>(numbers.size() * 8));
  stream.copy_to_device(at, reinterpret_cast<const std::byte*>(numbers.data()), first);
  for (std::int64_t done = first; done < bytes; done *= 2)
    stream.copy(at + static_cast<CUdeviceptr>(done), at, std::min(done, bytes - done));
  stream.wait();
}

class Trial {
 public:
  Trial(const Context& context, const Product& product, const ProductForm& form)
      : product_(product),
        left_(context, bytes(form.left, form, form.dtype)),
        right_(context, bytes(form.right, form, form.dtype)),
        result_(context, bytes(form.result, form, form.result_dtype)),
        workspace_(context, std::max<std::int64_t>(form.workspace_bytes, 256)),
        stream_(context) {
    fill(stream_, left_.at(), bytes(form.left, form, form.dtype), form.dtype);
    fill(stream_, right_.at(), bytes(form.right, form, form.dtype), form.dtype);
  }

  ~Trial() { stream_.context().driver().stream_wait(stream_.get()); }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  // Of one product; infinite where the algorithm does not run.
  double seconds(const cublasLtMatmulAlgo_t& algorithm) {
    constexpr double failed = std::numeric_limits<double>::infinity();
    const Product::Matrices at{.left = left_.at(),
                               .right = right_.at(),
                               .added = result_.at(),
                               .result = result_.at(),
                               .workspace = workspace_.at(),
                               .row = left_.at()};
    double once = 0;
    for (int runs = 1, round = 0; round < 2;
         ++round) {  // a short one first, which says how many make a round
      const Stopwatch watch;
      for (int i = 0; i < runs; ++i) {
        if (product_.begin(stream_.get(), at, false, algorithm) == CUBLAS_STATUS_SUCCESS) continue;
        stream_.wait();  // for those before it: their memory is about to be given back
        return failed;
      }
      stream_.wait();
      once = watch.seconds() / runs;
      runs = static_cast<int>(std::clamp(round_seconds / once, 1.0, static_cast<double>(most_runs)));
    }
    return once;
  }

 private:
  static std::int64_t bytes(const ProductMatrix& matrix, const ProductForm& form, DType dtype) {
    return extent(matrix, form.batch) * size_of(dtype);
  }

  const Product& product_;
  const DeviceMemory left_, right_, result_, workspace_;
  const Stream stream_;  // goes first: memory is given back once nothing runs in it
};

}  // namespace

std::size_t fastest_algorithm(const Context& context, const Product& product, const ProductForm& form,
                              std::span<const cublasLtMatmulAlgo_t> algorithms) {
  std::vector<double> least(algorithms.size(), std::numeric_limits<double>::infinity());
  try {
    Trial trial(context, product, form);
    trial.seconds(algorithms.front());  // the GPU's clock rises
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t a = 0; a < algorithms.size(); ++a)
        least[a] = std::min(least[a], trial.seconds(algorithms[a]));
    }
  } catch (const DeviceError& error) {
    if (error.code() != ErrorCode::out_of_memory) throw;
    return 0;
  }
  return fastest(least);
}

}  // namespace tidemark::cuda

#endif
