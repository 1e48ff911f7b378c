// BasicTape: several adjoints in one sweep.
#pragma once
#include <fmt/format.h>

#include "tidemark/scalar/tape.h"

namespace tidemark::scalars {

template <class T>
RecordingView<T> BasicTape<T>::view() const {
  Position<T> begin{};
  begin.codes = recording_.chunks.size() > 0 ? recording_.chunks[0].end() : nullptr;
  begin.next = (this->next & ~index_mask) + 1;
  return {recording_, mark(), begin, this->near_limit, reach()};
}

// Beside the bytes that are there for as many.
template <class T>
std::size_t BasicTape<T>::needed_for_lanes(unsigned lanes, std::size_t there) const {
  const std::size_t needed = lanes * (needed_for_one() + reversal_.bytes());
  return needed > there ? needed - there : 0;
}

// While several adjoints are on their way, these.
template <class T>
std::size_t BasicTape<T>::needed_to_reverse() const {
  return lanes_ == 0 ? needed_for_one() : needed_for_lanes(lanes_, lane_reversals_.bytes_of(lanes_));
}

template <class T>
unsigned BasicTape<T>::widest_lanes() {
  if (!limited()) return most_lanes;
  for (unsigned lanes = most_lanes; lanes > 4; lanes /= 2) {
    const std::size_t needed = needed_for_lanes(lanes, lane_reversals_.bytes_of(lanes));
    if (fits(needed) || release(needed)) return lanes;
    lane_reversals_.release();
  }
  return 4;
}

template <class T>
template <unsigned lanes>
auto BasicTape<T>::reverse_lanes(std::span<const LaneSeed> seeds, SourceLine where)
    -> std::span<const Pack<T, lanes>> {
  static_assert(lanes == 4 || lanes == 8 || lanes == 16, "one sweep has 4, 8 or 16 lanes");
  refuse_within_steps("a reversal", where);
  for (const LaneSeed& seed : seeds) {
    if (seed.lane >= lanes)
      fail(ErrorCode::index_out_of_range, {.what = fmt::format("a seed in lane {}", seed.lane),
                                           .expected = fmt::format("a lane below {}", lanes),
                                           .where = where});
    if (seed.of.id() != 0) check_own(seed.of, "a result", where);
  }
  const Activation paused(nullptr);
  const RecordingView<T> all = view();
  const typename Reversal<T, Pack<T, lanes>>::Ranges ranges{all.from, all.to, all.near_limit, all.near_seen};
  const Id ring = ring_for(all.near_seen);
  for (const LaneSeed& seed : seeds)
    if (seed.of.id() != 0 && this->next - seed.of.id() >= ring) recording_.far.mark(index_of(seed.of.id()));
  auto& reversal = lane_reversals_.template get<lanes>();
  if (limited()) {
    const std::size_t needed = needed_for_lanes(lanes, reversal.bytes());
    if (!fits(needed) && !release(needed)) overflow(needed, where);
  }
  lanes_ = limited() ? lanes : 0;
  try {
    reversal.prepare(recording_, ranges);
    reversal.open(ranges);
    for (const LaneSeed& seed : seeds) {
      if (seed.of.id() == 0) continue;
      Pack<T, lanes> pack;
      pack[seed.lane] = seed.adjoint;
      reversal.seed(seed.of.id(), pack);
    }
    const auto other = [&](Event<T>& event, std::span<const Pack<T, lanes>> results, Id) {
      reverse_side_by_side(event, results, [&](Id operand, const Pack<T, lanes>& amount) {
        if (operand != 0) reversal.seed(operand, amount);
      });
    };
    reversal.sweep(recording_, ranges, [&](Event<T>& event, std::span<const Pack<T, lanes>> results, Id k) {
      reverse_event(reversal, event, results, k, where, other);
    });
  } catch (...) {
    lanes_ = 0;
    reversal.clear();
    throw;
  }
  lanes_ = 0;
  peak_ = std::max(peak_, held());
  return std::span(reversal.gradients()).first(recording_.inputs.size());
}

template <class T>
DenseMatrix<T> BasicTape<T>::reverse_rows(std::span<const RowSeed> seeds, std::size_t rows,
                                          SourceLine where) {
  DenseMatrix<T> result(rows, recording_.inputs.size());
  std::vector<LaneSeed> group;
  const std::size_t widest = widest_lanes();
  for (std::size_t first = 0; first < rows; first += widest) {
    const std::size_t count = std::min(widest, rows - first);
    group.clear();
    for (const RowSeed& seed : seeds) {
      if (seed.row >= rows)
        fail(ErrorCode::index_out_of_range, {.what = fmt::format("a seed of row {}", seed.row),
                                             .expected = fmt::format("a row below {}", rows),
                                             .where = where});
      if (seed.row >= first && seed.row < first + count)
        group.push_back({seed.of, static_cast<unsigned>(seed.row - first), seed.adjoint});
    }
    with_lanes(count, [&](auto lanes) {
      const auto gradients = this->template reverse_lanes<lanes()>(group, where);
      for (std::size_t i = 0; i < count; ++i)
        for (std::size_t j = 0; j < gradients.size(); ++j) result(first + i, j) = gradients[j][i];
    });
  }
  return result;
}

template <class T>
std::size_t BasicTape<T>::input_number(const Real& input, SourceLine where) const {
  return find_input(input, "a derivative is asked by", where);
}

template <class T>
void BasicTape<T>::check_results(std::span<const Real> results, SourceLine where) const {
  for (const Real& result : results)
    if (result.id() != 0) check_own(result, "a result", where);
}

template <class T>
DenseMatrix<T> BasicTape<T>::jacobian(std::span<const Real> results, std::span<const Real> inputs,
                                      SourceLine where) {
  std::vector<std::size_t> columns;
  for (const Real& input : inputs) columns.push_back(input_number(input, where));
  std::vector<RowSeed> seeds;
  for (const Real& result : results) seeds.push_back({result, seeds.size()});
  const DenseMatrix<T> all = reverse_rows(seeds, results.size(), where);
  DenseMatrix<T> chosen(results.size(), inputs.size());
  for (std::size_t i = 0; i < results.size(); ++i)
    for (std::size_t j = 0; j < inputs.size(); ++j) chosen(i, j) = all(i, columns[j]);
  return chosen;
}

}  // namespace tidemark::scalars
