// Frontiers drawn: time against memory, as a page of SVG that stands alone.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark::cli {

struct PlotPoint {
  std::int64_t bytes = 0;
  double percent = 0;  // extra time
  double bound = 0;    // no plan takes less
};

struct PlotCurve {
  std::string name;
  std::vector<PlotPoint> points;  // by rising bytes, at least one
};

// At least one curve. Between two points the plan of the smaller budget serves and the bound of the larger
// holds, so the lines are staircases. Bounds are drawn where there is a single curve.
std::string frontier_svg(std::string_view title, std::span<const PlotCurve> curves);

}  // namespace tidemark::cli
