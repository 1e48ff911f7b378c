#include <algorithm>
#include <bit>
#include <cstring>

#include "tidemark/ops/codec/bits_of_bytes.h"
#include "tidemark/ops/codec/sparse.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

// Elements are cut into blocks, one to a task. Where a block's begin in the packed ones is the number of
// those before it: counted first, block by block, and added up in order.
constexpr std::int64_t block = 16384;
constexpr std::int64_t at_once = 64;  // elements whose bits are a word

std::int64_t blocks_of(std::int64_t count) { return (count + block - 1) / block; }

std::int64_t scratch_for(std::int64_t count) {
  return (blocks_of(count) + 1) * static_cast<std::int64_t>(sizeof(std::int64_t));
}
std::int64_t scratch_to(const Call& call) { return scratch_for(call.in[0].count()); }
std::int64_t scratch_from(const Call& call) { return scratch_for(call.out[0].count()); }

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

template <class U>
std::int64_t count_set(const U* x, std::int64_t count) {
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += x[i] != 0;
  return sum;
}

// Writes the bits of some elements, and those that are not zero, in order. Returns how many.
template <class U>
std::int64_t pack_some(const U* x, std::int64_t count, std::byte* bits, U* packed) {
  std::uint8_t set[at_once] = {};
  U kept[at_once];
  std::int64_t n = 0;
  for (std::int64_t i = 0; i < count; ++i) {  // without a branch: what is zero is overwritten
    kept[n] = x[i];
    set[i] = x[i] != 0;
    n += set[i];
  }
  for (std::int64_t i = 0; i < count; i += 8) bits[i / 8] = bits_of_bytes(set + i);
  std::memcpy(packed, kept, static_cast<std::size_t>(n) * sizeof(U));
  return n;
}

template <class U>
std::int64_t unpack_some(const std::byte* bits, const U* packed, std::int64_t room, std::int64_t count,
                         U* x) {
  std::uint8_t set[at_once];
  std::int64_t n = 0, next = 0;
  for (std::int64_t i = 0; i < count; i += 8) {
    bytes_of_bits(bits[i / 8], set + i);
    n += std::popcount(static_cast<std::uint8_t>(bits[i / 8]));
  }
  U kept[at_once + 1] = {};
  std::memcpy(kept, packed, static_cast<std::size_t>(std::min(n, room)) * sizeof(U));
  for (std::int64_t i = 0; i < count; ++i) {
    x[i] = set[i] ? kept[next] : U(0);
    next += set[i];
  }
  return n;
}

void run_to(const KernelArgs& args) {
  const TensorRef &in = args.in[0], &out = args.out[0];
  const double share = args.attrs<ToSparseAttrs>().share;
  const std::int64_t count = in.count(), blocks = blocks_of(count), room = sparse_capacity(share, count);
  auto* const first = reinterpret_cast<std::int64_t*>(args.scratch);
  with_word(size_of(in.dtype), [&]<class U>() {
    const U* x = in.as<U>();
    const auto size = [&](std::int64_t b) { return std::min(block, count - b * block); };
    args.pool->run(blocks, [&](std::int64_t b) { first[b] = count_set(x + b * block, size(b)); });
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
    U* packed = out.as<U>();
    std::byte* bits = out.data + room * static_cast<std::int64_t>(sizeof(U));
    // One more task: the room that is left.
    args.pool->run(blocks + 1, [&](std::int64_t b) {
      if (b == blocks) {
        std::memset(packed + kept, 0, static_cast<std::size_t>(room - kept) * sizeof(U));
        return;
      }
      U* to = packed + first[b];
      for (std::int64_t i = b * block, end = i + size(b); i < end; i += at_once)
        to += pack_some(x + i, std::min(at_once, end - i), bits + i / 8, to);
    });
  });
}

void run_from(const KernelArgs& args) {
  const TensorRef &in = args.in[0], &out = args.out[0];
  const std::int64_t count = out.count(), blocks = blocks_of(count);
  const std::int64_t room = sparse_capacity(args.attrs<FromSparseAttrs>().share, count);
  auto* const first = reinterpret_cast<std::int64_t*>(args.scratch);
  const std::byte* bits = in.data + room * size_of(out.dtype);
  args.pool->run(blocks, [&](std::int64_t b) {
    std::int64_t sum = 0;
    const std::int64_t end = (std::min((b + 1) * block, count) + 7) / 8;
    for (std::int64_t i = b * block / 8; i < end; ++i)
      sum += std::popcount(static_cast<std::uint8_t>(bits[i]));
    first[b] = sum;
  });
  add_up(first, blocks);
  with_word(size_of(out.dtype), [&]<class U>() {
    const U* packed = in.as<U>();
    U* x = out.as<U>();
    args.pool->run(blocks, [&](std::int64_t b) {
      std::int64_t next = first[b];
      for (std::int64_t i = b * block, end = std::min(i + block, count); i < end; i += at_once) {
        const std::int64_t left = std::max<std::int64_t>(room - next, 0);
        next +=
            unpack_some(bits + i / 8, packed + std::min(next, room), left, std::min(at_once, end - i), x + i);
      }
    });
  });
}

// The operand is read twice; a few operations for each element.
Cost cost_to(const Call& call) {
  return {.flops = 4 * static_cast<double>(call.in[0].count()),
          .bytes = bytes_moved(call) + static_cast<double>(call.in[0].bytes())};
}
Cost cost_from(const Call& call) {
  return {.flops = 3 * static_cast<double>(call.out[0].count()), .bytes = bytes_moved(call)};
}

}  // namespace

const CpuKernel cpu::to_sparse = cpu_kernel<ToSparseAttrs>(run_to, {.cost = cost_to, .scratch = scratch_to});
const CpuKernel cpu::from_sparse =
    cpu_kernel<FromSparseAttrs>(run_from, {.cost = cost_from, .scratch = scratch_from});

}  // namespace tidemark
