#include "tidemark/data/batch_order.h"

#include <algorithm>

#include "tidemark/schedule/store/checksum.h"

namespace tidemark::data {

BatchOrder::BatchOrder(std::int64_t size, const LoaderOptions& options) : size_(size), options_(options) {
  batches_ = size / whole() + (!options.drop_last && size % whole() >= options.world);
  const std::uint64_t facts[] = {static_cast<std::uint64_t>(size),
                                 static_cast<std::uint64_t>(options.batch),
                                 options.shuffle,
                                 options.shuffle ? options.key : 0,
                                 options.drop_last,
                                 static_cast<std::uint64_t>(options.rank),
                                 static_cast<std::uint64_t>(options.world)};
  identity_ = schedule::checksum(std::as_bytes(std::span(facts)));
}

Position BatchOrder::after(Position at) const {
  if (++at.batch == batches_) at = {at.epoch + 1, 0, identity_};
  return at;
}

std::vector<std::int64_t> BatchOrder::indices(const Position& at) {
  if (options_.shuffle && at.epoch != epoch_) {
    permutation_.emplace(size_, options_.key, static_cast<std::uint64_t>(at.epoch));
    epoch_ = at.epoch;
  }
  const std::int64_t begin = at.batch * whole(), rows = std::min(whole(), size_ - begin);
  const std::int64_t first = begin + rows * options_.rank / options_.world,
                     last = begin + rows * (options_.rank + 1) / options_.world;
  std::vector<std::int64_t> list;
  for (std::int64_t place = first; place < last; ++place)
    list.push_back(options_.shuffle ? (*permutation_)[place] : place);
  return list;
}

}  // namespace tidemark::data
