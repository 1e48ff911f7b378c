#include "tools/report/frontier_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "tidemark/base/bytes.h"
#include "tidemark/base/check.h"

namespace tidemark::cli {
namespace {

constexpr double width = 720, height = 440;
constexpr double left = 84, right = 24, top = 48, bottom = 64;  // margins

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

// A round distance between ticks that gives about `count` of them.
double tick_distance(double range, int count) {
  const double rough = range / count, power = std::pow(10.0, std::floor(std::log10(rough)));
  for (double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

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

// Straight lines in data coordinates, from `low` at pixel `from` to `high` at pixel `to`.
struct Axis {
  double low, high, from, to;
  double at(double value) const { return from + (value - low) / (high - low) * (to - from); }
};

class Drawing {
 public:
  Drawing(std::string_view title, std::span<const PlotPoint> points)
      : points_(points),
        unit_(unit_of(points.back().bytes)),
        x_(memory_axis()),
        y_{0, std::max(highest() * 1.06, 1e-6), height - bottom, top} {
    line(
        R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" font-family="sans-serif" font-size="13" fill="#222">)",
        width, height);
    line("<title>{}</title>", escaped(title));
    line(R"(<rect width="{}" height="{}" fill="#fff"/>)", width, height);
    line(R"(<text x="{}" y="26" font-size="15" font-weight="bold">{}</text>)", left, escaped(title));
  }

  std::string draw() {
    ticks();
    staircase([](const PlotPoint& p) { return p.bound; }, false, "#9aa5b1", "4 3");
    staircase([](const PlotPoint& p) { return p.percent; }, true, "#0b6e99", "none");
    for (const PlotPoint& p : points_) {
      line(
          R"(<circle cx="{:.1f}" cy="{:.1f}" r="4" fill="#0b6e99"><title>{}: {:.3f}% more time, at least {:.3f}%</title></circle>)",
          x(p), y_.at(p.percent), to_string(Bytes(p.bytes)), p.percent, p.bound);
    }
    line(R"(<text x="{}" y="{}" text-anchor="middle">memory, {}</text>)", (left + width - right) / 2,
         height - 18, unit_.name);
    line(R"svg(<text transform="translate(22 {}) rotate(-90)" text-anchor="middle">extra time, %</text>)svg",
         (top + height - bottom) / 2);
    line(
        R"(<text x="{}" y="26" text-anchor="end" fill="#0b6e99">● plans <tspan fill="#7a8590">┄ no plan is below</tspan></text>)",
        width - right);
    return out_ + "</svg>\n";
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_ += '\n';
  }

  double highest() const {
    double most = 0;
    for (const PlotPoint& p : points_) most = std::max(most, p.percent);
    return most;
  }
  Axis memory_axis() const {
    const double low = static_cast<double>(points_.front().bytes) / unit_.bytes;
    const double high = static_cast<double>(points_.back().bytes) / unit_.bytes;
    const double margin = std::max((high - low) * 0.04, high * 1e-3 + 1e-9);
    return {low - margin, high + margin, left, width - right};
  }
  double x(const PlotPoint& p) const { return x_.at(static_cast<double>(p.bytes) / unit_.bytes); }

  void ticks() {
    const double step_x = tick_distance(x_.high - x_.low, 8), step_y = tick_distance(y_.high - y_.low, 6);
    for (double value = std::ceil(x_.low / step_x) * step_x; value <= x_.high; value += step_x) {
      line(
          R"(<path d="M{0:.1f} {1}V{2}" stroke="#e4e8ec"/><text x="{0:.1f}" y="{3}" text-anchor="middle">{4:.6g}</text>)",
          x_.at(value), top, height - bottom, height - bottom + 20, value);
    }
    for (double value = 0; value <= y_.high; value += step_y) {
      line(
          R"(<path d="M{0} {1:.1f}H{2}" stroke="#e4e8ec"/><text x="{3}" y="{4:.1f}" text-anchor="end">{5:.6g}</text>)",
          left, y_.at(value), width - right, left - 8, y_.at(value) + 4, value);
    }
    line(R"(<path d="M{0} {1}V{2}H{3}" fill="none" stroke="#555"/>)", left, top, height - bottom,
         width - right);
  }

  // A plan holds to the right of its point, a bound to the left.
  template <class Value>
  void staircase(Value&& value, bool holds_to_the_right, std::string_view color, std::string_view dashes) {
    std::string path = fmt::format("M{:.1f} {:.1f}", x(points_[0]), y_.at(value(points_[0])));
    for (const PlotPoint& p : points_.subspan(1)) {
      const std::string across = fmt::format("H{:.1f}", x(p)), down = fmt::format("V{:.1f}", y_.at(value(p)));
      path += holds_to_the_right ? across + down : down + across;
    }
    line(R"(<path d="{}" fill="none" stroke="{}" stroke-width="2" stroke-dasharray="{}"/>)", path, color,
         dashes);
  }

  std::span<const PlotPoint> points_;
  Unit unit_;
  Axis x_, y_;
  std::string out_;
};

}  // namespace

std::string frontier_svg(std::string_view title, std::span<const PlotPoint> points) {
  TM_CHECK(!points.empty());
  return Drawing(title, points).draw();
}

}  // namespace tidemark::cli
