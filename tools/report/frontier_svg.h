// A frontier drawn: time against memory, as a page of SVG that stands alone.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tidemark::cli {

struct PlotPoint {
  std::int64_t bytes = 0;
  double percent = 0;  // extra time
  double bound = 0;    // no plan takes less
};

// Points by rising bytes, at least one. Between two of them the plan of the smaller budget serves and the
// bound of the larger holds, so the lines are staircases.
std::string frontier_svg(std::string_view title, std::span<const PlotPoint> points);

}  // namespace tidemark::cli
