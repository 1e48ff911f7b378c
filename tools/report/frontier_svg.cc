#include "tools/report/frontier_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "tidemark/base/bytes.h"
#include "tidemark/base/check.h"
#include "tools/report/svg.h"

namespace tidemark::cli {
namespace {

constexpr PlotFrame frontier_frame{
    .width = 720, .height = 440, .left = 84, .right = 24, .top = 48, .bottom = 64};

struct Unit {
  std::string_view name;
  double bytes;
};
Unit unit_of(std::int64_t bytes) {
  Unit unit{"bytes", 1};
  for (const Unit& larger :
       {Unit{"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0}}) {
    if (static_cast<double>(bytes) >= larger.bytes) unit = larger;
  }
  return unit;
}

class Drawing {
 public:
  Drawing(std::string_view title, std::span<const PlotPoint> points)
      : points_(points),
        unit_(unit_of(points.back().bytes)),
        x_(memory_axis()),
        y_{0, std::max(highest() * 1.06, 1e-6), frontier_frame.height - frontier_frame.bottom,
           frontier_frame.top},
        plot_(frontier_frame, title) {
    plot_.heading(title);
  }

  std::string draw() {
    const auto text = [](double value) { return fmt::format("{:.6g}", value); };
    plot_.axes(x_, {8, 0, text, fmt::format("memory, {}", unit_.name)}, y_, {6, 0, text, "extra time, %"});
    staircase([](const PlotPoint& p) { return p.bound; }, false, "#9aa5b1", "4 3");
    staircase([](const PlotPoint& p) { return p.percent; }, true, "#0b6e99", "none");
    for (const PlotPoint& p : points_) {
      plot_.line(
          R"(<circle cx="{:.1f}" cy="{:.1f}" r="4" fill="#0b6e99"><title>{}: {:.3f}% more time, at least {:.3f}%</title></circle>)",
          x(p), y_.at(p.percent), to_string(Bytes(p.bytes)), p.percent, p.bound);
    }
    plot_.line(
        R"(<text x="{}" y="26" text-anchor="end" fill="#0b6e99">● plans <tspan fill="#7a8590">┄ no plan is below</tspan></text>)",
        frontier_frame.width - frontier_frame.right);
    return plot_.page();
  }

 private:
  double highest() const {
    double most = 0;
    for (const PlotPoint& p : points_) most = std::max(most, p.percent);
    return most;
  }
  Axis memory_axis() const {
    const double low = static_cast<double>(points_.front().bytes) / unit_.bytes;
    const double high = static_cast<double>(points_.back().bytes) / unit_.bytes;
    const double margin = std::max((high - low) * 0.04, high * 1e-3 + 1e-9);
    return {low - margin, high + margin, frontier_frame.left, frontier_frame.width - frontier_frame.right};
  }
  double x(const PlotPoint& p) const { return x_.at(static_cast<double>(p.bytes) / unit_.bytes); }

  // A plan holds to the right of its point, a bound to the left.
  template <class Value>
  void staircase(Value&& value, bool holds_to_the_right, std::string_view color, std::string_view dashes) {
    std::string path = fmt::format("M{:.1f} {:.1f}", x(points_[0]), y_.at(value(points_[0])));
    for (const PlotPoint& p : points_.subspan(1)) {
      const std::string across = fmt::format("H{:.1f}", x(p)), down = fmt::format("V{:.1f}", y_.at(value(p)));
      path += holds_to_the_right ? across + down : down + across;
    }
    plot_.line(R"(<path d="{}" fill="none" stroke="{}" stroke-width="2" stroke-dasharray="{}"/>)", path,
               color, dashes);
  }

  std::span<const PlotPoint> points_;
  Unit unit_;
  Axis x_, y_;
  SvgPlot plot_;
};

}  // namespace

std::string frontier_svg(std::string_view title, std::span<const PlotPoint> points) {
  TM_CHECK(!points.empty());
  return Drawing(title, points).draw();
}

}  // namespace tidemark::cli
