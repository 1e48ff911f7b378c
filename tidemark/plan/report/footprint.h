// Memory as a formula in the batch size: what one plan's decisions take when tensors are smaller or larger.
//
//   peak(batch) ≤ fixed + per_example · batch       for batches from `least` to `most`
//
// With order, recomputation and sharing kept, the load at each step is linear in the batch, and the peak,
// being the largest of them, is convex: the line through two sizes is never below it in between.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace tidemark {

class Graph;
struct Plan;
struct Target;

// The peak of the same steps on `resized`, which is `graph` with other sizes; none if it differs in more than
// that.
std::optional<std::int64_t> peak_with_sizes(const Graph& graph, const Plan& plan, const Graph& resized,
                                            const Target& target);

struct BatchPeak {
  std::int64_t batch = 0, peak = 0;
};
struct Footprint {
  std::int64_t fixed = 0, per_example = 0;  // bytes; fixed may be negative where the peak bends upwards
  std::int64_t least = 0, most = 0;         // batches that the line was drawn through
  double deviation = 0;  // of the sizes in between, the furthest from the line, as a share of its peak
  bool linear() const { return deviation <= 0.005; }
};
// `peaks`: at least two, batches rising.
Footprint fit_footprint(std::span<const BatchPeak> peaks);

// "12.30 MiB + 1.20 MiB per example, for batches of 16 to 64"
std::string to_text(const Footprint& footprint);

}  // namespace tidemark
