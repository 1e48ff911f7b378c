// Random numbers as pure functions of a key: element i depends on (key, op, stream, i) alone, so a replay
// gives the same bits, with any number of threads and on any machine. A key is an i64 of rank 0; a seed is a
// key. Never use a key twice for things that should be independent: split it, fold a number into it, or name
// streams. The first four ops may have a second operand, an i64 of rank 0: their elements are then those from
// that number on, which is how a part of a batch gets its part of the batch's numbers (opt/split_batch.h).
#pragma once
#include <vector>

#include "tidemark/ir/builder.h"

namespace tidemark {

struct RandomBitsAttrs {
  DType dtype = DType::i64;  // i32, i64 or u8
  Dims shape;
  std::int64_t stream = 0;  // in [0, 2³²): tells apart uses of one key
  TM_FIELDS(RandomBitsAttrs, dtype, shape, stream)
};
struct RandomUniformAttrs {
  DType dtype = DType::f32;
  Dims shape;
  double low = 0, high = 1;  // in [low, high)
  std::int64_t stream = 0;
  TM_FIELDS(RandomUniformAttrs, dtype, shape, low, high, stream)
};
struct RandomNormalAttrs {
  DType dtype = DType::f32;
  Dims shape;
  double mean = 0, deviation = 1;
  std::int64_t stream = 0;
  TM_FIELDS(RandomNormalAttrs, dtype, shape, mean, deviation, stream)
};
struct RandomBernoulliAttrs {
  Dims shape;
  double p = 0.5;  // of true, to 2⁻³²; 0 and 1 are exact
  std::int64_t stream = 0;
  TM_FIELDS(RandomBernoulliAttrs, shape, p, stream)
};
struct RandomPermutationAttrs {
  std::int64_t size = 0;
  std::int64_t stream = 0;
  TM_FIELDS(RandomPermutationAttrs, size, stream)
};
struct RandomSplitAttrs {
  std::int64_t count = 2;
  TM_FIELDS(RandomSplitAttrs, count)
};

Var random_key(Builder& builder, std::int64_t seed);
Var random_bits(const Var& key, const RandomBitsAttrs& attrs);
Var random_uniform(const Var& key, const RandomUniformAttrs& attrs);
Var random_normal(const Var& key, const RandomNormalAttrs& attrs);
Var random_bernoulli(const Var& key, const RandomBernoulliAttrs& attrs);  // bool
Var random_permutation(const Var& key,
                       const RandomPermutationAttrs& attrs);     // i64 (size): each of 0 … size-1 once
Var random_split(const Var& key, std::int64_t count);            // i64 (count): new keys
std::vector<Var> split_key(const Var& key, std::int64_t count);  // the same, one by one
Var fold_in(const Var& key, const Var& number);                  // a new key; number: i64 of rank 0
Var fold_in(const Var& key, std::int64_t number);

// How random_bernoulli draws, for kernels that make its bits themselves: element i is true where word i % 4
// of Philox block i / 4 of the stream is below the threshold.
struct BernoulliDraw {
  std::uint64_t stream = 0, threshold = 0;
};
BernoulliDraw bernoulli_draw(double p, std::int64_t stream = 0);

// Philox's stream for kernels that round at random: element i takes word i % 4 of its block i / 4.
std::uint64_t rounding_stream(std::int64_t stream);

// The normal quantile Φ⁻¹(p) for 0 < p < 1 to about 16 digits (Wichura 1988, algorithm AS 241, PPND16). Plain
// arithmetic and square roots only, so its bits are the same on every machine.
double normal_quantile(double p);

}  // namespace tidemark
