#include "tools/report/frontier_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
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

// Told apart by people who see few colours, and on paper by their marks: paths around a point; empty: a disc.
struct CurveStyle {
  std::string_view color, mark;
};
constexpr CurveStyle curve_styles[] = {{"#0b6e99", ""},
                                       {"#c8500a", "m-4-4h8v8h-8z"},
                                       {"#2f8f4e", "m0-5l5 9h-10z"},
                                       {"#8e4a9e", "m0-5.5l5.5 5.5l-5.5 5.5l-5.5-5.5z"},
                                       {"#a58300", "m0 5l5-9h-10z"},
                                       {"#555d66", "m-1.5-5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5v-3h3.5z"}};
const CurveStyle& style_of(std::size_t curve) { return curve_styles[curve % std::size(curve_styles)]; }

class FrontierDrawing {
 public:
  FrontierDrawing(std::string_view title, std::span<const PlotCurve> curves)
      : curves_(curves),
        unit_(unit_of(most_bytes())),
        x_(memory_axis()),
        y_{0, std::max(highest() * 1.06, 1e-6), frontier_frame.height - frontier_frame.bottom,
           frontier_frame.top},
        plot_(frontier_frame, title) {
    plot_.heading(title);
  }

  std::string draw() {
    const auto text = [](double value) { return fmt::format("{:.6g}", value); };
    plot_.axes(x_, {8, 0, text, fmt::format("memory, {}", unit_.name)}, y_, {6, 0, text, "extra time, %"});
    if (curves_.size() == 1) {
      staircase(
          curves_[0], [](const PlotPoint& p) { return p.bound; }, false, "#9aa5b1", "4 3");
    }
    for (std::size_t i = 0; i < curves_.size(); ++i) {
      const PlotCurve& curve = curves_[i];
      staircase(
          curve, [](const PlotPoint& p) { return p.percent; }, true, style_of(i).color, "none");
      for (const PlotPoint& p : curve.points) mark(i, p);
    }
    if (curves_.size() == 1) {
      plot_.line(
          R"(<text x="{}" y="26" text-anchor="end" fill="{}">● {} <tspan fill="#7a8590">┄ no plan is below</tspan></text>)",
          frontier_frame.width - frontier_frame.right, style_of(0).color, escaped(curves_[0].name));
    } else {
      legend();
    }
    return plot_.page();
  }

 private:
  template <class Value>
  double most(Value&& value) const {
    double found = 0;
    for (const PlotCurve& curve : curves_) {
      for (const PlotPoint& p : curve.points) found = std::max(found, value(p));
    }
    return found;
  }
  double highest() const {
    return most([](const PlotPoint& p) { return p.percent; });
  }
  std::int64_t most_bytes() const {
    return static_cast<std::int64_t>(most([](const PlotPoint& p) { return static_cast<double>(p.bytes); }));
  }
  Axis memory_axis() const {
    std::int64_t least = most_bytes();
    for (const PlotCurve& curve : curves_) least = std::min(least, curve.points.front().bytes);
    const double low = static_cast<double>(least) / unit_.bytes;
    const double high = static_cast<double>(most_bytes()) / unit_.bytes;
    const double margin = std::max((high - low) * 0.04, high * 1e-3 + 1e-9);
    return {low - margin, high + margin, frontier_frame.left, frontier_frame.width - frontier_frame.right};
  }
  double x(const PlotPoint& p) const { return x_.at(static_cast<double>(p.bytes) / unit_.bytes); }

  void mark(std::size_t curve, const PlotPoint& p) {
    const CurveStyle& style = style_of(curve);
    const std::string about = curves_.size() == 1
                                  ? fmt::format("{}: {:.3f}% more time, at least {:.3f}%",
                                                to_string(Bytes(p.bytes)), p.percent, p.bound)
                                  : fmt::format("{}, {}: {:.3f}% more time", curves_[curve].name,
                                                to_string(Bytes(p.bytes)), p.percent);
    draw_mark(style, x(p), y_.at(p.percent), escaped(about));
  }
  void draw_mark(const CurveStyle& style, double at_x, double at_y, const std::string& title) {
    const std::string about = title.empty() ? "" : fmt::format("<title>{}</title>", title);
    if (style.mark.empty()) {
      plot_.line(R"(<circle cx="{:.1f}" cy="{:.1f}" r="4" fill="{}">{}</circle>)", at_x, at_y, style.color,
                 about);
    } else {
      plot_.line(R"(<path d="M{:.1f} {:.1f}{}" fill="{}">{}</path>)", at_x, at_y, style.mark, style.color,
                 about);
    }
  }

  // In the upper right corner, which falling curves leave free.
  void legend() {
    constexpr double row = 20, character = 7.2, inset = 12;
    std::size_t longest = 0;
    for (const PlotCurve& curve : curves_) longest = std::max(longest, curve.name.size());
    const double width = static_cast<double>(longest) * character + 4 * inset;
    const double left = frontier_frame.width - frontier_frame.right - width - inset;
    const double top = frontier_frame.top + inset;
    plot_.line(
        R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="4" fill="#fff" fill-opacity="0.9" stroke="#d5dbe1"/>)",
        left, top, width, static_cast<double>(curves_.size()) * row + inset);
    for (std::size_t i = 0; i < curves_.size(); ++i) {
      const double middle = top + row * (static_cast<double>(i) + 0.8);
      draw_mark(style_of(i), left + 1.3 * inset, middle, "");
      plot_.line(R"(<text x="{:.1f}" y="{:.1f}">{}</text>)", left + 2.4 * inset, middle + 4.5,
                 escaped(curves_[i].name));
    }
  }

  // A plan holds to the right of its point, a bound to the left.
  template <class Value>
  void staircase(const PlotCurve& curve, Value&& value, bool holds_to_the_right, std::string_view color,
                 std::string_view dashes) {
    const std::vector<PlotPoint>& points = curve.points;
    std::string path = fmt::format("M{:.1f} {:.1f}", x(points[0]), y_.at(value(points[0])));
    for (std::size_t i = 1; i < points.size(); ++i) {
      const std::string across = fmt::format("H{:.1f}", x(points[i])),
                        down = fmt::format("V{:.1f}", y_.at(value(points[i])));
      path += holds_to_the_right ? across + down : down + across;
    }
    plot_.line(R"(<path d="{}" fill="none" stroke="{}" stroke-width="2" stroke-dasharray="{}"/>)", path,
               color, dashes);
  }

  std::span<const PlotCurve> curves_;
  Unit unit_;
  Axis x_, y_;
  SvgPlot plot_;
};

}  // namespace

std::string frontier_svg(std::string_view title, std::span<const PlotCurve> curves) {
  TM_CHECK(!curves.empty());
  return FrontierDrawing(title, curves).draw();
}

}  // namespace tidemark::cli
