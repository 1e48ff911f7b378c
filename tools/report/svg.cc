#include "tools/report/svg.h"

#include <algorithm>
#include <cmath>

namespace tidemark::cli {
namespace {

double tick_distance(const Axis& axis, const SvgPlot::Ticks& ticks) {
  const double rough = (axis.high - axis.low) / ticks.count;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return std::max(ticks.least, factor * power);
  }
  return std::max(ticks.least, 10 * power);
}

template <class Draw>
void for_each_tick(const Axis& axis, const SvgPlot::Ticks& ticks, const Draw& draw) {
  const double distance = tick_distance(axis, ticks);
  for (double value = std::ceil(axis.low / distance) * distance; value <= axis.high; value += distance)
    draw(axis.at(value), ticks.text(value));
}

}  // namespace

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

SvgPlot::SvgPlot(const PlotFrame& frame, std::string_view title) : frame_(frame) {
  line(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" font-family="sans-serif" font-size="13" fill="#222">)",
      frame.width, frame.height);
  line("<title>{}</title>", escaped(title));
  line(R"(<rect width="{}" height="{}" fill="#fff"/>)", frame.width, frame.height);
}

void SvgPlot::heading(std::string_view text) {
  line(R"(<text x="{}" y="26" font-size="15" font-weight="bold">{}</text>)", frame_.left, escaped(text));
}

void SvgPlot::axes(const Axis& x, const Ticks& on_x, const Axis& y, const Ticks& on_y) {
  const double right = frame_.width - frame_.right, floor = frame_.height - frame_.bottom;
  for_each_tick(x, on_x, [&](double at, const std::string& text) {
    line(
        R"(<path d="M{0:.1f} {1}V{2}" stroke="#e4e8ec"/><text x="{0:.1f}" y="{3}" text-anchor="middle">{4}</text>)",
        at, frame_.top, floor, floor + 20, text);
  });
  for_each_tick(y, on_y, [&](double at, const std::string& text) {
    line(
        R"(<path d="M{0} {1:.1f}H{2}" stroke="#e4e8ec"/><text x="{3}" y="{4:.1f}" text-anchor="end">{5}</text>)",
        frame_.left, at, right, frame_.left - 8, at + 4, text);
  });
  line(R"(<path d="M{0} {1}V{2}H{3}" fill="none" stroke="#555"/>)", frame_.left, frame_.top, floor, right);
  line(R"(<text x="{}" y="{}" text-anchor="middle">{}</text>)", (frame_.left + right) / 2, frame_.height - 18,
       on_x.label);
  line(R"svg(<text transform="translate(20 {}) rotate(-90)" text-anchor="middle">{}</text>)svg",
       (frame_.top + floor) / 2, on_y.label);
}

}  // namespace tidemark::cli
