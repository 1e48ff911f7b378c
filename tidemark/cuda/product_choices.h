// Which of cuBLASLt's algorithms computes a product of some form, and which of cuDNN's engines a convolution,
// where that was found out by timing: kept in the folder of kernels, for one kind of GPU and one version of
// the library. An entry is written once and
// never replaced by another choice, so that from then on every run on this machine has the same bits.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "tidemark/base/folder.h"

namespace tidemark::cuda {

// What the library makes of its choice: bytes that it alone understands, the same for the same version.
using ProductAlgorithm = std::array<std::uint64_t, 8>;

class ProductChoices {
 public:
  // `machine`: all that a choice depends on beside the form. "" as the folder: nothing is kept, nor known.
  ProductChoices(const std::string& folder, std::string machine);
  ProductChoices(const ProductChoices&) = delete;
  ProductChoices& operator=(const ProductChoices&) = delete;

  const std::string& machine() const { return machine_; }
  std::optional<ProductAlgorithm> find(const std::string& form) const;
  // What counts for the form from now on: this one, or that of another thread or process which came first.
  // None: it cannot be kept, and what is not kept must not be used, as the next run may find another.
  std::optional<ProductAlgorithm> keep(const std::string& form, const ProductAlgorithm& chosen) const;

  // TIDEMARK_CUDA_TIMING is set and not 0: what has no entry is to be timed.
  static bool timing_is_asked_for();

 private:
  struct Name {
    std::uint64_t first = 0, second = 0;
    std::string file() const;
  };
  Name name_of(const std::string& form) const;
  std::optional<ProductAlgorithm> read(const Name& name) const;

  const std::string machine_;
  std::optional<Folder> folder_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, ProductAlgorithm> known_;  // under the mutex
};

// The first that takes at most a hundredth more than the least: the library's own order decides where a clock
// cannot. Times are in seconds; infinite: it failed.
std::size_t fastest(std::span<const double> seconds);

}  // namespace tidemark::cuda
