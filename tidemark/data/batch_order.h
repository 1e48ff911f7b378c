// Which examples are in which batch of which epoch: a function of the options alone.
#pragma once
#include <optional>
#include <vector>

#include "tidemark/data/loader.h"
#include "tidemark/data/permutation.h"

namespace tidemark::data {

class BatchOrder {
 public:
  BatchOrder(std::int64_t size, const LoaderOptions& options);

  std::int64_t batches() const { return batches_; }     // of an epoch, of this rank
  std::uint64_t identity() const { return identity_; }  // another for any other size or options
  Position after(Position at) const;
  std::vector<std::int64_t> indices(const Position& at);

 private:
  std::int64_t whole() const { return options_.batch * options_.world; }  // rows of all ranks

  std::int64_t size_;
  LoaderOptions options_;
  std::int64_t batches_ = 0;
  std::uint64_t identity_ = 0;
  std::optional<Permutation> permutation_;
  std::int64_t epoch_ = -1;  // of the permutation
};

}  // namespace tidemark::data
