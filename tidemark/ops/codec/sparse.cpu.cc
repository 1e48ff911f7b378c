#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "tidemark/ops/codec/bits_of_bytes.h"
#include "tidemark/ops/codec/sparse.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

// Elements are cut into blocks, one to a task. Where a block's begin in the packed ones is the number of
// those before it: counted first, block by block, with their bits, and added up in order.
constexpr std::int64_t block = 16384;
constexpr std::int64_t at_once = 64;  // elements whose bits are a word

std::int64_t blocks_of(std::int64_t count) { return (count + block - 1) / block; }
std::int64_t words_of(std::int64_t count) { return (count + at_once - 1) / at_once; }

std::int64_t scratch_to(const Call& call) {
  const std::int64_t count = call.in[0].count();
  return (blocks_of(count) + words_of(count)) * static_cast<std::int64_t>(sizeof(std::int64_t));
}
std::int64_t scratch_from(const Call& call) {
  return blocks_of(call.out[0].count()) * static_cast<std::int64_t>(sizeof(std::int64_t));
}

// Calls f<U>() with an unsigned integer of so many bytes.
template <class F>
void with_word(std::int64_t size, const F& f) {
  if (size == 1) return f.template operator()<std::uint8_t>();
  if (size == 2) return f.template operator()<std::uint16_t>();
  if (size == 4) return f.template operator()<std::uint32_t>();
  return f.template operator()<std::uint64_t>();
}

// Turns the numbers of blocks into where they begin; returns their sum.
std::int64_t add_up(std::int64_t* first, std::int64_t blocks) {
  std::int64_t sum = 0;
  for (std::int64_t b = 0; b < blocks; ++b) sum += std::exchange(first[b], sum);
  return sum;
}

// The bits of up to 64 elements, the first in the lowest: those that are not zero.
template <class U>
std::uint64_t bits_of(const U* x, std::int64_t count) {
  std::uint8_t set[at_once] = {};
  if (count == at_once) {  // of a length that compilers know
    for (std::int64_t i = 0; i < at_once; ++i) set[i] = x[i] != 0;
  } else {
    for (std::int64_t i = 0; i < count; ++i) set[i] = x[i] != 0;
  }
  std::uint64_t bits = 0;
  for (int i = 0; i < 8; ++i) bits |= static_cast<std::uint64_t>(bits_of_bytes(set + 8 * i)) << (8 * i);
  return bits;
}

constexpr std::uint64_t all_set = ~std::uint64_t{0};

// A packed form is bytes: one of several in a tensor may begin at any address, so its elements are copied.

// Those elements, in order; returns where the next ones go. As many steps as there are.
template <class U>
std::byte* pack_some(const U* x, std::uint64_t bits, std::byte* to) {
  if (bits == all_set) {
    std::memcpy(to, x, at_once * sizeof(U));
    return to + at_once * sizeof(U);
  }
  for (; bits != 0; bits &= bits - 1, to += sizeof(U)) std::memcpy(to, x + std::countr_zero(bits), sizeof(U));
  return to;
}

// Back to where they were; returns what comes next, never beyond `end`, whatever the bits are.
template <class U>
const std::byte* unpack_some(const std::byte* from, const std::byte* end, std::uint64_t bits,
                             std::int64_t count, U* x) {
  constexpr auto size = static_cast<std::int64_t>(sizeof(U));
  if (bits == all_set && end - from >= at_once * size) {
    std::memcpy(x, from, at_once * sizeof(U));
    return from + at_once * size;
  }
  std::fill_n(x, count, U(0));
  for (; bits != 0 && from < end; bits &= bits - 1, from += size)
    std::memcpy(x + std::countr_zero(bits), from, sizeof(U));
  return from;
}

// The word with number `i` of so many bits, which lie in bytes.
std::uint64_t read_bits(const std::byte* bytes, std::int64_t i, std::int64_t count) {
  const std::int64_t some = std::min(at_once, count - i * at_once);
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes + 8 * i, static_cast<std::size_t>((some + 7) / 8));
  return some == at_once ? bits : bits & ((std::uint64_t{1} << some) - 1);
}

void run_to(const KernelArgs& args) {
  const TensorRef &in = args.in[0], &out = args.out[0];
  const double share = args.attrs<ToSparseAttrs>().share;
  const std::int64_t count = in.count(), blocks = blocks_of(count), room = sparse_capacity(share, count);
  auto* const first = reinterpret_cast<std::int64_t*>(args.scratch);
  auto* const words = reinterpret_cast<std::uint64_t*>(first + blocks);
  // Calls f(word, element) for those of a block.
  const auto for_words = [&](std::int64_t b, const auto& f) {
    for (std::int64_t i = b * block; i < std::min((b + 1) * block, count); i += at_once) f(i / at_once, i);
  };
  with_word(size_of(in.dtype), [&]<class U>() {
    const U* x = in.as<U>();
    args.pool->run(blocks, [&](std::int64_t b) {
      first[b] = 0;
      for_words(b, [&](std::int64_t w, std::int64_t i) {
        words[w] = bits_of(x + i, std::min(at_once, count - i));
        first[b] += std::popcount(words[w]);
      });
    });
    const std::int64_t kept = add_up(first, blocks);
    if (kept > room) {
      throw SparseOverflow(
          ErrorCode::numeric,
          {.what = fmt::format(
               "{:.1f}% of the elements of {} are not 0, and its sparse form has room for {:.1f}%",
               100.0 * static_cast<double>(kept) / static_cast<double>(count),
               to_string(Type{in.dtype, in.shape}), 100 * share),
           .expected = fmt::format("at most {} elements that are not 0; there are {}", room, kept),
           .where = args.where,
           .help = "give codec::sparse a larger share, or leave compress out"});
    }
    constexpr auto size = static_cast<std::int64_t>(sizeof(U));
    std::byte* packed = out.data;
    std::byte* bits = packed + room * size;
    // One more task: the room that is left.
    args.pool->run(blocks + 1, [&](std::int64_t b) {
      if (b == blocks) {
        std::memset(packed + kept * size, 0, static_cast<std::size_t>((room - kept) * size));
        return;
      }
      std::byte* to = packed + first[b] * size;
      for_words(b, [&](std::int64_t w, std::int64_t i) {
        to = pack_some(x + i, words[w], to);
        std::memcpy(bits + 8 * w, &words[w],
                    static_cast<std::size_t>((std::min(at_once, count - i) + 7) / 8));
      });
    });
  });
}

void run_from(const KernelArgs& args) {
  const TensorRef &in = args.in[0], &out = args.out[0];
  const std::int64_t count = out.count(), blocks = blocks_of(count);
  const std::int64_t room = sparse_capacity(args.attrs<FromSparseAttrs>().share, count);
  auto* const first = reinterpret_cast<std::int64_t*>(args.scratch);
  const std::byte* bits = in.data + room * size_of(out.dtype);
  const auto for_words = [&](std::int64_t b, const auto& f) {
    for (std::int64_t i = b * block; i < std::min((b + 1) * block, count); i += at_once)
      f(read_bits(bits, i / at_once, count), i);
  };
  args.pool->run(blocks, [&](std::int64_t b) {
    first[b] = 0;
    for_words(b, [&](std::uint64_t word, std::int64_t) { first[b] += std::popcount(word); });
  });
  add_up(first, blocks);
  with_word(size_of(out.dtype), [&]<class U>() {
    constexpr auto size = static_cast<std::int64_t>(sizeof(U));
    const std::byte *packed = in.data, *end = packed + room * size;
    args.pool->run(blocks, [&](std::int64_t b) {
      const std::byte* from = packed + std::min(first[b], room) * size;
      for_words(b, [&](std::uint64_t word, std::int64_t i) {
        from = unpack_some(from, end, word, std::min(at_once, count - i), out.as<U>() + i);
      });
    });
  });
}

// Per element, as measured (bench/micro_codec): a little for its bit, and more for one that is kept, of which
// there are as many as there is room for.
Cost cost_of(const Call& call, std::int64_t count, double share) {
  return {.flops = (6 + 32 * share) * static_cast<double>(count),
          .bytes = bytes_moved(call),
          .work = WorkKind::elementwise};
}
Cost cost_to(const Call& call) {
  return cost_of(call, call.in[0].count(), call.attrs_as<ToSparseAttrs>().share);
}
Cost cost_from(const Call& call) {
  return cost_of(call, call.out[0].count(), call.attrs_as<FromSparseAttrs>().share);
}

}  // namespace

const CpuKernel cpu::to_sparse = cpu_kernel<ToSparseAttrs>(run_to, {.cost = cost_to, .scratch = scratch_to});
const CpuKernel cpu::from_sparse =
    cpu_kernel<FromSparseAttrs>(run_from, {.cost = cost_from, .scratch = scratch_from});

}  // namespace tidemark
