// A plot as a page of SVG that stands alone: a white page with a title, a frame with ticks, and whatever is
// drawn into it in pixels.
#pragma once
#include <fmt/format.h>

#include <functional>
#include <iterator>
#include <string>
#include <string_view>

namespace tidemark::cli {

std::string escaped(std::string_view text);  // for text between tags

// A line of values, from `low` at pixel `from` to `high` at pixel `to`.
struct Axis {
  double low, high, from, to;
  double at(double value) const { return from + (value - low) / (high - low) * (to - from); }
};

struct PlotFrame {
  double width, height;
  double left, right, top, bottom;  // margins
  double inner_width() const { return width - left - right; }
  double inner_height() const { return height - top - bottom; }
};

class SvgPlot {
 public:
  SvgPlot(const PlotFrame& frame, std::string_view title);

  // Any tags.
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_ += '\n';
  }
  void heading(std::string_view text);  // above the frame

  // Ticks at round values: about `count` of them, at least `least` apart, as `text` writes them.
  struct Ticks {
    int count;
    double least;
    std::function<std::string(double)> text;
    std::string label;  // of the axis
  };
  void axes(const Axis& x, const Ticks& on_x, const Axis& y, const Ticks& on_y);

  std::string page() const { return out_ + "</svg>\n"; }

 private:
  PlotFrame frame_;
  std::string out_;
};

}  // namespace tidemark::cli
