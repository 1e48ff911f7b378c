// The parts of attention by warpgroups (wgmma.h), for heads of width 64: each of two warpgroups works on 64
// rows of one side (queries or keys), which it holds in registers; a warp of its own brings the rows of the
// other side in tiles of 64, two tiles a step, into a ring of buffers.
//
//   a step's buffers are full    when the warp that copies says so, and then products may read them
//   and empty again              when all eight warps that multiply have said so
//
// so that warpgroups need not wait for each other: one makes exponentials while the other multiplies.
#pragma once
#include "tidemark/cuda/device/attention_matrices.h"
#include "tidemark/cuda/device/barriers.h"
#include "tidemark/cuda/device/wgmma.h"

namespace tidemark::cuda {

inline constexpr int group_warps = WarpgroupSizes::warps;  // that multiply
inline SharedPlace aligned_memory() { return (place_of(block_memory()) + 1023) / 1024 * 1024; }
// Registers of threads that copy and of those that multiply: 65,536 in all.
inline constexpr int copying_registers = 40, multiplying_registers = 232;

struct Ring {
  static constexpr int stages = WarpgroupSizes::stages;
  static constexpr int behind = 2;  // steps whose copies are under way
  SharedPlace tiles, numbers, barriers;

  explicit Ring(SharedPlace memory)
      : tiles(memory + WarpgroupSizes::ring_offset),
        numbers(memory + WarpgroupSizes::numbers_offset),
        barriers(memory + WarpgroupSizes::barriers_offset) {}
  SharedPlace first_tile(int step) const { return tiles + step % stages * 2 * tile_bytes; }
  SharedPlace second_tile(int step) const { return first_tile(step) + tile_bytes; }
  // Two numbers for each row.
  SharedPlace first_numbers(int step) const { return numbers + step % stages * 2 * tile_rows * 4; }
  SharedPlace second_numbers(int step) const { return first_numbers(step) + tile_rows * 4; }
  SharedPlace full(int step) const { return barriers + step % stages * barrier_bytes; }
  SharedPlace empty(int step) const { return full(step) + stages * barrier_bytes; }

  // By all threads of the block.
  void make() const {
    if (threadIdx.x == 0) {
      for (int s = 0; s < stages; ++s) {
        make_barrier(full(s), 1);
        make_barrier(empty(s), group_warps);
      }
    }
    __syncthreads();
  }
  void wait_until_full(int step) const { wait_for_phase(full(step), step / stages); }
  void leave(int step) const {  // by a warp that multiplies
    sync_warp();
    if (lane_number() == 0) arrive(empty(step));
  }
  // By the warp that copies: before and after the copies of a step, and after the last step.
  void wait_until_empty(int step) const {
    if (step >= stages) wait_for_phase(empty(step), step / stages - 1);
  }
  void brought(int step) const {
    end_copies();
    if (step >= behind) show<behind>(step - behind);
  }
  void brought_all(int steps) const {
    for (int step = steps < behind ? 0 : steps - behind; step < steps; ++step) show<0>(step);
  }

 private:
  template <int pending>
  void show(int step) const {
    wait_for_copies_but<pending>();
    show_to_products();
    sync_warp();
    if (lane_number() == 0) arrive(full(step));
  }
};

// Copies `count` rows from `first` on of a head with `rows` of them into a tile, by one warp; zeros where
// there is none.
template <class F, int count, int rows>
void copy_tile(SharedPlace to, const HeadRows<typename F::Element>& head, int first) {
  const int row = lane_number() / 8, part = lane_number() % 8;
  if (in_quads<F>(head)) {
    const typename F::Element* const from = head.row(first + row) + part * 8;
    const SharedPlace even = to + tile_offset(row, part), odd = to + tile_offset(row + 4, part);
#pragma unroll
    for (int turn = 0; turn < count / 4; ++turn) {
      copy_quad((turn % 2 ? odd : even) + turn / 2 * 8 * tile_row_bytes, from + turn * 4 * head.row_step,
                rows % (2 * tile_rows) == 0 || first + turn * 4 + row < rows);
    }
  } else {
#pragma unroll 1
    for (int r = row; r < count; r += 4) {
      unsigned quad[4];
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        const bool inside = first + r < rows;
        const unsigned low = inside ? head.at(first + r, part * 8 + 2 * w).bits : 0u;
        const unsigned high = inside ? head.at(first + r, part * 8 + 2 * w + 1).bits : 0u;
        quad[w] = low | high << 16;
      }
      store_quad(to + tile_offset(r, part), quad);
    }
  }
}

// The warp that copies: keys and values, in `steps` tiles each.
template <class F>
void copy_keys(const typename F::Pointers& at, const Ring& ring, int kv, int steps) {
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    ring.wait_until_empty(step);
    copy_tile<F, tile_rows, F::keys>(ring.first_tile(step), k_rows<F>(at, kv), step * tile_rows);
    copy_tile<F, tile_rows, F::keys>(ring.second_tile(step), v_rows<F>(at, kv), step * tile_rows);
    ring.brought(step);
  }
  ring.brought_all(steps);
}

// 16 rows from `first` on as the warp's left factors, by way of its room for them, the first or the second.
template <class F, int rows>
void load_factors(unsigned (&a)[4][4], SharedPlace memory, int which,
                  const HeadRows<typename F::Element>& head, int first) {
  const SharedPlace room =
      memory + WarpgroupSizes::own_offset + (2 * warp_number() + which) * 16 * tile_row_bytes;
  copy_tile<F, 16, rows>(room, head, first);
  wait_for_copies();
  sync_warp();
#pragma unroll
  for (int k = 0; k < 4; ++k)
    load_matrices(a[k], room + tile_offset(lane_number() % 16, 2 * k + lane_number() / 16));
}

template <class F>
void round_tile(unsigned (&to)[4][4], const float (&from)[8][4]) {
  using T = typename F::Element;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    to[k][0] = packed<T>(from[2 * k][0], from[2 * k][1]);
    to[k][1] = packed<T>(from[2 * k][2], from[2 * k][3]);
    to[k][2] = packed<T>(from[2 * k + 1][0], from[2 * k + 1][1]);
    to[k][3] = packed<T>(from[2 * k + 1][2], from[2 * k + 1][3]);
  }
}

// Of four lanes with four words each: lane l gets word l of each.
inline void exchange(unsigned (&x)[4]) {
#pragma unroll
  for (int bit = 1; bit <= 2; bit *= 2) {
    const bool upper = (lane_number() & bit) != 0;
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      if (c & bit) continue;
      const unsigned got = across(upper ? x[c] : x[c | bit], bit);
      if (upper) {
        x[c] = got;
      } else {
        x[c | bit] = got;
      }
    }
  }
}
// Writes the warp's 16 rows, each half times its factor, `rows` of them.
template <class F>
void write_tile(typename F::Element* to, const float (&c)[8][4], float low_factor, float high_factor,
                int rows) {
  using T = typename F::Element;
  const int row = lane_number() / 4, part = lane_number() % 4;
  const bool aligned = is_aligned<8>(to);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float factor = half ? high_factor : low_factor;
#pragma unroll
    for (int n = 0; n < 8; n += 4) {
      unsigned words[4];
#pragma unroll
      for (int w = 0; w < 4; ++w)
        words[w] = packed<T>(c[n + w][half * 2] * factor, c[n + w][half * 2 + 1] * factor);
      exchange(words);
      if (row + half * 8 >= rows) continue;
      T* const at = to + (row + half * 8) * F::width + (n + part) * 8;
      if (aligned) {
        *reinterpret_cast<Pack<4, unsigned>*>(at) = {words[0], words[1], words[2], words[3]};
      } else {
#pragma unroll
        for (int e = 0; e < 8; ++e) at[e].bits = static_cast<std::uint16_t>(words[e / 2] >> e % 2 * 16);
      }
    }
  }
}

}  // namespace tidemark::cuda
