#include "tools/report/schedule_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <vector>

#include "tools/report/svg.h"

namespace tidemark::cli {
namespace {

using schedule::Action;
using schedule::ActionKind;
using schedule::Promise;
using schedule::Schedule;
using schedule::Step;

constexpr PlotFrame schedule_frame{
    .width = 960, .height = 540, .left = 84, .right = 24, .top = 76, .bottom = 60};
constexpr std::int64_t most_actions = 200'000'000;  // followed
constexpr std::int64_t most_lines = 3'000;          // actions drawn one by one

constexpr std::string_view forward_color = "#0b6e99", reverse_color = "#c0392b", record_color = "#2e8b57";
constexpr std::array<std::string_view, 4> level_colors = {"#e0a030", "#7b4fa3", "#4d8f2f", "#8d6e63"};
std::string_view level_color(std::size_t level) {
  return level_colors[std::min(level, level_colors.size() - 1)];
}

std::string grouped(std::int64_t value) {
  std::string digits = fmt::format("{}", value);
  for (std::ptrdiff_t i = std::ssize(digits) - 3; i > 0; i -= 3)
    digits.insert(static_cast<std::size_t>(i), ",");
  return digits;
}

std::string tick_text(double value) {
  return value < 1e7 ? grouped(static_cast<std::int64_t>(value)) : fmt::format("{:.3g}", value);
}

class Staircase {
 public:
  explicit Staircase(const Schedule& schedule)
      : schedule_(schedule), promise_(schedule.promise()), plot_(schedule_frame, title()) {
    std::array<Action, 1024> batch;
    const auto actions = schedule.actions();
    for (std::size_t n; total_ < most_actions && (n = actions->fill(batch)) > 0;)
      total_ += static_cast<std::int64_t>(n);
    rows_ = std::min<Step>(promise_.steps, static_cast<Step>(schedule_frame.inner_height()));
    bars_.resize(2 * promise_.slots.size());
    for (auto& bars : bars_) bars.resize(static_cast<std::size_t>(rows_));
  }

  std::string draw() {
    axes();
    follow();
    for (std::size_t kind = 0; kind < bars_.size(); ++kind) {
      if (bar_paths_[kind].empty()) continue;
      const bool record = kind % 2 == 1;
      plot_.line(R"(<path d="{}" fill="none" stroke="{}" stroke-width="{:.2f}"{}/>)", bar_paths_[kind],
                 level_color(kind / 2),
                 std::clamp(schedule_frame.inner_height() / static_cast<double>(rows_) * 0.5, 1.2, 5.0),
                 record ? R"( stroke-dasharray="3 2")" : "");
    }
    plot_.line(R"(<path d="{}" fill="none" stroke="{}" stroke-width="{}" stroke-linejoin="round"/>)",
               forward_path_, forward_color, one_by_one() ? 1.6 : 1.0);
    if (!jump_path_.empty())
      plot_.line(
          R"(<path d="{}" fill="none" stroke="{}" stroke-width="0.8" stroke-dasharray="2 2" opacity="0.6"/>)",
          jump_path_, forward_color);
    if (!record_path_.empty())
      plot_.line(R"(<path d="{}" fill="none" stroke="{}" stroke-width="2.4"/>)", record_path_, record_color);
    plot_.line(R"(<path d="{}" fill="none" stroke="{}" stroke-width="2"/>)", reverse_path_, reverse_color);
    heading();
    return plot_.page();
  }

 private:
  struct Bar {  // of all that lies in one row of pixels
    std::int64_t count = 0, since = 0;
  };

  template <class... Args>
  static void add(std::string& path, fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(path), format, std::forward<Args>(args)...);
  }

  bool one_by_one() const { return total_ <= most_lines; }
  Axis x_axis() const {
    return {0, static_cast<double>(total_), schedule_frame.left, schedule_frame.width - schedule_frame.right};
  }
  Axis y_axis() const {
    return {0, static_cast<double>(promise_.steps), schedule_frame.height - schedule_frame.bottom,
            schedule_frame.top};
  }
  double x(std::int64_t action) const { return x_axis().at(static_cast<double>(action)); }
  double y(Step state) const { return y_axis().at(static_cast<double>(state)); }
  std::size_t row(Step state) const {
    const auto at = static_cast<Step>(static_cast<__int128>(state) * rows_ / promise_.steps);
    return static_cast<std::size_t>(std::min(at, rows_ - 1));
  }
  std::vector<Bar>& bars(const Action& action, bool record) {
    return bars_[2 * static_cast<std::size_t>(action.level) + (record ? 1 : 0)];
  }

  void begin_bar(const Action& action, bool record, std::int64_t now) {
    kept_records_[{action.level, action.slot}] = record;
    Bar& bar = bars(action, record)[row(action.step)];
    if (bar.count++ == 0) bar.since = now;
  }
  void end_bar(const Action& action, std::int64_t now) {
    const bool record = kept_records_[{action.level, action.slot}];
    Bar& bar = bars(action, record)[row(action.step)];
    if (--bar.count == 0)
      draw_bar(bar, 2 * static_cast<std::size_t>(action.level) + (record ? 1 : 0), action.step, now);
  }
  void draw_bar(const Bar& bar, std::size_t kind, Step step, std::int64_t now) {
    if (x(now) - x(bar.since) < 0.4) return;
    add(bar_paths_[kind], "M{:.1f} {:.1f}H{:.1f}", x(bar.since), y(step), x(now));
  }

  // Each action takes one unit of the axis.
  void follow() {
    bar_paths_.resize(bars_.size());
    const auto actions = schedule_.actions();
    std::array<Action, 1024> batch;
    Step state = 0, reversed = promise_.steps;
    std::int64_t now = 0;
    add(forward_path_, "M{:.1f} {:.1f}", x(0), y(0));
    add(reverse_path_, "M{:.1f} {:.1f}", x(0), y(reversed));
    for (std::size_t n; now < total_ && (n = actions->fill(batch)) > 0;) {
      for (std::size_t i = 0; i < n && now < total_; ++i, ++now) apply(batch[i], now, state, reversed);
    }
    flush_column();
    for (std::size_t kind = 0; kind < bars_.size();
         ++kind) {  // of a schedule that was not followed to its end
      for (Step r = 0; r < rows_; ++r) {
        const Bar& bar = bars_[kind][static_cast<std::size_t>(r)];
        if (bar.count > 0) draw_bar(bar, kind, r * promise_.steps / rows_, total_);
      }
    }
  }

  void apply(const Action& action, std::int64_t now, Step& state, Step& reversed) {
    const Step before = state;
    switch (action.kind) {
      case ActionKind::advance:
        state = action.to;
        break;
      case ActionKind::record:
        state = action.step + 1;
        if (action.level != schedule::working) begin_bar(action, true, now);
        break;
      case ActionKind::reverse:
        reversed = action.step;
        break;
      case ActionKind::store:
        begin_bar(action, false, now);
        break;
      case ActionKind::load:
        state = action.step;
        break;
      case ActionKind::drop:
        end_bar(action, now + 1);
        break;
    }
    if (one_by_one()) {
      draw_action(action, now, before, state);
    } else {
      widen_column(now, std::min(before, state), std::max(before, state));
    }
    if (action.kind != ActionKind::reverse) return;
    if (one_by_one()) {
      add(reverse_path_, "H{:.1f}L{:.1f} {:.1f}", x(now), x(now + 1), y(reversed));
    } else if (x(now + 1) - reverse_drawn_ >= 0.5) {
      reverse_drawn_ = x(now + 1);
      add(reverse_path_, "L{:.1f} {:.1f}", reverse_drawn_, y(reversed));
    }
  }

  void draw_action(const Action& action, std::int64_t now, Step before, Step state) {
    const double from = x(now), to = x(now + 1);
    switch (action.kind) {
      case ActionKind::advance:
        add(forward_path_, "L{:.1f} {:.1f}", to, y(state));
        break;
      case ActionKind::record:
        add(record_path_, "M{:.1f} {:.1f}L{:.1f} {:.1f}", from, y(before), to, y(state));
        add(forward_path_, "M{:.1f} {:.1f}", to, y(state));
        break;
      case ActionKind::load:
        add(jump_path_, "M{:.1f} {:.1f}L{:.1f} {:.1f}", from, y(before), to, y(state));
        add(forward_path_, "M{:.1f} {:.1f}", to, y(state));
        break;
      default:
        add(forward_path_, "M{:.1f} {:.1f}", to, y(state));
    }
  }

  // Of a column of pixels, from the lowest state to the highest.
  void widen_column(std::int64_t now, Step low, Step high) {
    const double column = std::floor(x(now));
    if (column != column_) {
      flush_column();
      column_ = column, low_ = low, high_ = high;
    }
    low_ = std::min(low_, low), high_ = std::max(high_, high);
  }
  void flush_column() {
    if (column_ >= 0)
      add(forward_path_, "M{:.1f} {:.1f}V{:.1f}", column_ + 0.5, y(low_) + 0.5, y(high_) - 0.5);
    column_ = -1;
  }

  void axes() { plot_.axes(x_axis(), {9, 1, tick_text, "action"}, y_axis(), {8, 1, tick_text, "step"}); }

  std::string title() const {
    std::string slots;
    for (std::int64_t peak : promise_.peak_slots)
      slots += fmt::format("{}{}", slots.empty() ? "" : " + ", grouped(peak));
    return fmt::format("{}: {} steps, {} slots used, {} forward steps ({:.2f} for each)",
                       name_of(promise_.kind), grouped(promise_.steps), slots,
                       grouped(promise_.total_forward()), promise_.overhead());
  }

  void heading() {
    plot_.heading(title());
    double at = schedule_frame.left;
    const auto entry = [&](std::string_view color, std::string_view text, std::string_view dashes) {
      plot_.line(
          R"(<path d="M{:.0f} 46h22" stroke="{}" stroke-width="3" stroke-dasharray="{}"/><text x="{:.0f}" y="50">{}</text>)",
          at, color, dashes, at + 28, text);
      at += 44 + 7.0 * static_cast<double>(text.size());
    };
    entry(forward_color, one_by_one() ? "advance" : "forward, from lowest to highest", "none");
    if (one_by_one()) entry(record_color, "record", "none");
    entry(reverse_color, "reversed down to", "none");
    for (std::size_t kind = 0; kind < bars_.size(); ++kind) {
      if (bar_paths_[kind].empty()) continue;
      entry(level_color(kind / 2),
            fmt::format("{} on level {}", kind % 2 == 1 ? "record" : "state", kind / 2),
            kind % 2 == 1 ? "3 2" : "none");
    }
    if (total_ >= most_actions)
      plot_.line(R"(<text x="{}" y="68" fill="#a33">only the first {} actions are drawn</text>)",
                 schedule_frame.left, grouped(total_));
  }

  const Schedule& schedule_;
  const Promise& promise_;
  std::int64_t total_ = 0;
  Step rows_ = 1;
  std::vector<std::vector<Bar>> bars_;  // by level, states then records
  std::map<std::pair<std::int16_t, std::int32_t>, bool> kept_records_;
  std::vector<std::string> bar_paths_;
  std::string forward_path_, jump_path_, record_path_, reverse_path_;
  SvgPlot plot_;
  double column_ = -1, reverse_drawn_ = 0;
  Step low_ = 0, high_ = 0;
};

}  // namespace

std::string schedule_svg(const Schedule& schedule) { return Staircase(schedule).draw(); }

}  // namespace tidemark::cli
