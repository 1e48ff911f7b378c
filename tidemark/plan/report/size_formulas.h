// The peak of a program as formulas in its sizes (batch, context, layers, …), from plans at some sizes and
// checked by plans at others.
//
//   peak(batch, layers) = 96 MiB + 14 MiB · layers + 2 MiB · batch · layers
//        for batch 4 to 32, layers 2 to 24; exact at 9 further sizes
//
// A plan's peak is the load of one step, and loads are polynomials in the sizes. Where another step has the
// most, or a kernel's scratch stops to grow, another polynomial holds: another regime. Regimes are boxes of
// sizes: a polynomial is fitted to a box; where plans deviate from it, the box is cut at the border, which is
// found by bisection along one size.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tidemark/plan/report/peak_split.h"
#include "tidemark/plan/report/size_polynomial.h"

namespace tidemark {

// A size that varies, from `least` to `most` in multiples of `step`.
struct SizeAxis {
  std::string name;
  std::int64_t least = 1, most = 1;
  std::int64_t step = 1;
  int degree = 2;  // the highest power that may come in; 1 for a batch
};

// What a plan at some sizes takes, and what runs at its peak.
struct SizedPeak {
  std::array<std::int64_t, peak_role_count> bytes = {};  // by role
  std::string at = {};                                   // "contract (train.cc:16)"

  std::int64_t peak() const;
};
SizedPeak sized_peak(const Graph& graph, const Plan& plan);

// By sizes, one for each axis. May throw; none where the program does not have such sizes.
using PeakAtSizes = std::function<std::optional<SizedPeak>(std::span<const std::int64_t> sizes)>;

struct SizeRange {
  std::int64_t least = 0, most = 0;
  bool operator==(const SizeRange&) const = default;
};
using SizeBox = std::vector<SizeRange>;  // one for each axis

struct SizeRegime {
  SizeBox box = {};
  std::array<SizePolynomial, peak_role_count> by_role = {};
  SizePolynomial peak = {};
  std::vector<std::string> at = {};  // what runs at the peak; several where no border lies between them
  int fitted = 0, checked = 0;       // plans that it was made from, and further ones in the box
  std::int64_t most_off = 0;         // bytes, at the further ones; 0: exact
  double deviation = 0;              // the same as a share of the peak there
};

struct SizeFormulas {
  std::vector<SizeAxis> axes;
  std::vector<SizeRegime> regimes;  // larger sizes first
  std::vector<SizeBox> without;     // where no polynomial was found
  int plans = 0;                    // that were made

  const SizeRegime* regime_of(std::span<const std::int64_t> sizes) const;  // null: of none
};

// A formula may be off by half a percent of the peak, in single parts by two; arguments are exact. After
// `most_plans` no further box is taken up.
SizeFormulas size_formulas(std::vector<SizeAxis> axes, const PeakAtSizes& peak_at, int most_plans = 200);

std::string to_text(const SizeFormulas& formulas);

}  // namespace tidemark
