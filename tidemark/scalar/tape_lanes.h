// Reversals of one recording for several adjoints at once.
#pragma once
#include <memory>
#include <optional>
#include <tuple>

#include "tidemark/scalar/pack.h"
#include "tidemark/scalar/reversal.h"

namespace tidemark::scalars {

// Directions that one sweep takes along, at most.
inline constexpr unsigned most_lanes = 16;

// f(integral_constant<unsigned, lanes>) with the fewest lanes that are enough for `count` directions, or with
// the most there are.
template <class F>
decltype(auto) with_lanes(std::size_t count, F&& f) {
  if (count <= 4) return f(std::integral_constant<unsigned, 4>());
  if (count <= 8) return f(std::integral_constant<unsigned, 8>());
  return f(std::integral_constant<unsigned, 16>());
}

// The memory of such sweeps, made when one is asked for, kept for the next.
template <class T>
class LaneReversals {
 public:
  template <unsigned lanes>
  Reversal<T, Pack<T, lanes>>& get() {
    auto& reversal = std::get<std::unique_ptr<Reversal<T, Pack<T, lanes>>>>(all_);
    if (!reversal) reversal = std::make_unique<Reversal<T, Pack<T, lanes>>>();
    return *reversal;
  }
  std::size_t bytes() const {
    return std::apply(
        [](const auto&... reversal) { return (std::size_t{0} + ... + (reversal ? reversal->bytes() : 0)); },
        all_);
  }
  std::size_t bytes_of(unsigned lanes) const {
    std::size_t bytes = 0;
    with_lanes(lanes, [&](auto width) {
      const auto& reversal = std::get<std::unique_ptr<Reversal<T, Pack<T, width()>>>>(all_);
      if (reversal) bytes = reversal->bytes();
    });
    return bytes;
  }
  void release() { all_ = {}; }

 private:
  std::tuple<std::unique_ptr<Reversal<T, Pack<T, 4>>>, std::unique_ptr<Reversal<T, Pack<T, 8>>>,
             std::unique_ptr<Reversal<T, Pack<T, 16>>>>
      all_;
};

// An event knows one adjoint at a time: it is called for each lane that has any. add(operand, pack).
template <class T, unsigned lanes, class Add>
void reverse_side_by_side(Event<T>& event, std::span<const Pack<T, lanes>> results, Add&& add) {
  struct Sink final : AdjointSink<T> {
    Add& to;
    unsigned lane = 0;
    explicit Sink(Add& f) : to(f) {}
    void add(Id operand, const T& amount) override {
      Pack<T, lanes> pack;
      pack[lane] = amount;
      to(operand, pack);
    }
  };
  Sink sink(add);
  std::vector<T> adjoints(results.size());
  for (; sink.lane < lanes; ++sink.lane) {
    bool any = false;
    for (std::size_t i = 0; i < results.size(); ++i) {
      adjoints[i] = results[i][sink.lane];
      any |= !is_zero(adjoints[i]);
    }
    if (any) event.reverse(adjoints, sink);
  }
}

}  // namespace tidemark::scalars
