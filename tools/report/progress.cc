#include "tools/report/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace tidemark::cli {

Progress::Progress(int total) : total_(total), terminal_(isatty(STDERR_FILENO) == 1) {}

void Progress::show(int done, const std::string& status) {
  constexpr int width = 30;
  if (!terminal_ && done != total_ && done % (total_ / 10 > 0 ? total_ / 10 : 1) != 0) return;
  const int filled = total_ > 0 ? done * width / total_ : width;
  std::string bar;
  for (int i = 0; i < width; ++i) bar += i < filled ? "█" : "·";
  fmt::print(stderr, "{}{} {:>{}}/{}  {}{}", terminal_ ? "\r" : "", bar, done,
             fmt::formatted_size("{}", total_), total_, status, terminal_ && done != total_ ? "  " : "\n");
  std::fflush(stderr);
}

ControlOptions planning_control(const Effort& effort) {
  ControlOptions options{.seconds = effort.seconds};
  if (isatty(STDERR_FILENO) != 1) return options;
  static constexpr auto moment = std::chrono::milliseconds(500);
  options.progress = [begin = std::chrono::steady_clock::now(), bar = Progress(100),
                      shown = false](const PlanProgress& progress) mutable {
    if (!shown && (progress.done >= 1 || std::chrono::steady_clock::now() - begin < moment)) return true;
    shown = true;
    bar.show(static_cast<int>(100 * progress.done), fmt::format("{:<8}", progress.stage));
    return true;
  };
  return options;
}

}  // namespace tidemark::cli
