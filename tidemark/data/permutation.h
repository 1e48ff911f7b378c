// An order of [0, size) drawn by a key: a pure function, so that any place of it can be asked for at any
// time, after a restart too. Up to 2^16 it is a list, shuffled (every order is equally likely); above,
// nothing is stored: a Feistel network over Philox, walked until it lands inside (Black & Rogaway, CT-RSA
// 2002).
#pragma once
#include <cstdint>
#include <vector>

#include "tidemark/base/philox.h"

namespace tidemark::data {

class Permutation {
 public:
  Permutation(std::int64_t size, std::uint64_t key, std::uint64_t stream);
  std::int64_t size() const { return size_; }
  std::int64_t operator[](std::int64_t place) const;

 private:
  std::uint64_t once(std::uint64_t x) const;

  std::int64_t size_;
  Philox philox_;
  std::uint64_t stream_;
  int half_bits_ = 0;
  std::vector<std::uint16_t> list_;  // none: computed
};

}  // namespace tidemark::data
