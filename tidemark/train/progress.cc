#include "tidemark/train/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>

namespace tidemark {
namespace {

constexpr double between_drawings = 0.1;  // seconds, on a terminal
constexpr double between_lines = 30;      // elsewhere, where the end is not known
constexpr int bar_cells = 20;

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int terminal_columns(bool standard_error) {
  if (!standard_error || !isatty(STDERR_FILENO)) return 0;
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

std::string clock_text(double seconds) {
  if (!(seconds < 360'000)) return "?";  // a hundred hours
  const auto whole = static_cast<std::int64_t>(seconds);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string rate_text(double per_second) {
  return per_second >= 1 || per_second == 0 ? fmt::format("{:.3g} it/s", per_second)
                                            : fmt::format("{:.3g} s/it", 1 / per_second);
}

// "61.3/64.0 MiB": both in the unit of the second.
std::string memory_text(std::int64_t peak, std::int64_t budget) {
  if (budget == 0) return to_string(Bytes(peak));
  constexpr std::string_view units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double scale = 1;
  std::size_t unit = 0;
  while (unit + 1 < std::size(units) && static_cast<double>(budget) >= 1024 * scale) scale *= 1024, ++unit;
  const int digits = unit == 0 ? 0 : 1;
  return fmt::format("{:.{}f}/{:.{}f} {}", static_cast<double>(peak) / scale, digits,
                     static_cast<double>(budget) / scale, digits, units[unit]);
}

// Characters, not bytes: every code point here is one column wide.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}
std::string cut_to(std::string text, std::size_t columns) {
  std::size_t at = 0;
  for (std::size_t seen = 0; at < text.size(); ++at) {
    if ((text[at] & 0xc0) != 0x80 && seen++ == columns) break;
  }
  text.resize(at);
  return text;
}

}  // namespace

ProgressBar::ProgressBar(ProgressOptions options) : options_(std::move(options)) {
  if (!options_.columns) options_.columns = terminal_columns(!options_.out);
  if (!options_.out) options_.out = &std::cerr;
  if (!options_.seconds) options_.seconds = steady_seconds;
  done_ = drawn_done_ = options_.done;
  start_ = drawn_at_ = options_.seconds();
}

ProgressBar::~ProgressBar() {
  try {
    finish();
  } catch (...) {  // a stream that throws must not end the program
  }
}

ProgressBar& ProgressBar::show(std::string_view name, double value) {
  const auto known =
      std::find_if(shown_.begin(), shown_.end(), [&](const Shown& s) { return s.name == name; });
  if (known == shown_.end()) {
    shown_.push_back({std::string(name), value});
  } else {
    known->value = value;
  }
  return *this;
}

ProgressBar& ProgressBar::show_plan(const Plan& plan) {
  memory_ = "mem " + memory_text(plan.peak(), plan.budget);
  if (const double extra = plan.extra_time(); extra > 0.005) {
    memory_ += fmt::format("  recompute {:.0f}%", 100 * extra / (1 + extra));
  }
  return *this;
}

void ProgressBar::advance() {
  ++done_;
  if (is_due()) draw(false);
}

void ProgressBar::finish() {
  if (finished_) return;
  finished_ = true;
  draw(true);
}

double ProgressBar::elapsed() const { return options_.seconds() - start_; }

bool ProgressBar::is_due() const {
  if (finished_) return false;
  if (*options_.columns > 0) return options_.seconds() - drawn_at_ >= between_drawings;
  if (!options_.total) return options_.seconds() - drawn_at_ >= between_lines;
  const auto tenth = [&](std::int64_t done) { return *options_.total > 0 ? 10 * done / *options_.total : 0; };
  return tenth(done_) > tenth(drawn_done_) && done_ < *options_.total;  // the end has a line of its own
}

void ProgressBar::draw(bool last) {
  const bool terminal = *options_.columns > 0;
  std::string text = line();
  if (terminal) {
    const auto columns = static_cast<std::size_t>(*options_.columns);
    text = "\r" + (columns_of(text) > columns ? cut_to(text, columns) : text) + "\x1b[K";
  }
  *options_.out << text << (!terminal || last ? "\n" : "") << std::flush;
  drawn_at_ = options_.seconds();
  drawn_done_ = done_;
}

std::string ProgressBar::line() const {
  std::vector<std::string> parts;
  if (!options_.name.empty()) parts.push_back(options_.name);
  const double seconds = elapsed();
  const auto rounds = static_cast<double>(done_ - options_.done);
  if (options_.total) {
    const double share =
        *options_.total > 0 ? static_cast<double>(done_) / static_cast<double>(*options_.total) : 1;
    const int halves = static_cast<int>(std::clamp(share, 0.0, 1.0) * 2 * bar_cells);
    std::string bar;
    for (int i = 0; i < bar_cells; ++i) bar += 2 * i + 1 < halves ? "━" : 2 * i < halves ? "╸" : "─";
    parts.push_back(fmt::format("{:3.0f}% {} {}/{}", std::floor(100 * share), bar, done_, *options_.total));
  } else {
    parts.push_back(fmt::format("{}", done_));
  }
  for (const Shown& shown : shown_) parts.push_back(fmt::format("{} {:.4g}", shown.name, shown.value));
  parts.push_back(rate_text(seconds > 0 ? rounds / seconds : 0));
  if (!memory_.empty()) parts.push_back(memory_);
  std::string clock = clock_text(seconds);
  if (options_.total && rounds > 0 && done_ < *options_.total) {
    clock += " < " + clock_text(seconds / rounds * static_cast<double>(*options_.total - done_));
  }
  parts.push_back(clock);
  return fmt::format("{}", fmt::join(parts, "  "));
}

}  // namespace tidemark
