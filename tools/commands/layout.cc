#include "tools/commands/layout.h"

#include <fmt/format.h>

#include <cstdio>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "tidemark/base/bytes.h"
#include "tidemark/base/check.h"
#include "tidemark/base/error.h"
#include "tidemark/base/stopwatch.h"
#include "tidemark/solve/pack/check.h"
#include "tidemark/solve/pack/csv.h"
#include "tidemark/solve/pack/pack.h"
#include "tools/exit_code.h"
#include "tools/help/manual.h"
#include "tools/options/number_option.h"
#include "tools/report/exact_size.h"
#include "tools/report/print_figures.h"
#include "tools/text_file.h"

namespace tidemark::cli {
namespace {

constexpr std::int64_t default_work = 40'000'000'000;  // about half a minute where the bound is not reached

struct LayoutCommand {
  std::string input, output, capacity;
  std::optional<double> timeout;
  bool json = false;
};

std::string_view name_of(PackStatus status) {
  switch (status) {
    case PackStatus::fits:
      return "fits";
    case PackStatus::proved_infeasible:
      return "infeasible";
    case PackStatus::gave_up:
      break;
  }
  return "gave_up";
}

ExitCode exit_code_of(PackStatus status) {
  switch (status) {
    case PackStatus::fits:
      return exit_ok;
    case PackStatus::proved_infeasible:
      return exit_infeasible;
    case PackStatus::gave_up:
      break;
  }
  return exit_gave_up;
}

void print_pack(const PackResult& result, std::size_t buffers, std::optional<std::int64_t> capacity,
                double seconds) {
  fmt::print("buffers      {}\n", buffers);
  fmt::print("peak         {}\n", exact_size(result.height));
  fmt::print("lower bound  {}\n", exact_size(result.lower_bound));
  if (result.lower_bound > 0)
    fmt::print("ratio        {:.5f}\n",
               static_cast<double>(result.height) / static_cast<double>(result.lower_bound));
  fmt::print("optimal      {}\n", result.proved_optimal ? "yes, proved" : "not proved");
  if (capacity)
    fmt::print("capacity     {}: {}\n", exact_size(*capacity),
               result.status == PackStatus::fits                ? "fits"
               : result.status == PackStatus::proved_infeasible ? "proved not to fit"
                                                                : "no layout found");
  fmt::print("seconds      {:.3f}\n", seconds);
}

void print_pack_json(const PackResult& result, std::size_t buffers, std::optional<std::int64_t> capacity,
                     double seconds) {
  nlohmann::ordered_json report = {
      {"peak", result.height},
      {"lower_bound", result.lower_bound},
      {"optimal", result.proved_optimal},
      {"status", name_of(result.status)},
      {"buffers", buffers},
      {"seconds", seconds},
      {"capacity", nullptr},
  };
  if (capacity) report["capacity"] = *capacity;
  print_figures(report);
}

void explain_misfit(const PackResult& result, std::int64_t capacity, const std::string& input) {
  ErrorParts parts;
  parts.where = SourceLine(intern(input), 1);
  if (result.status == PackStatus::proved_infeasible) {
    parts.what = fmt::format("a capacity of {} bytes is {} bytes below the least that is possible", capacity,
                             result.lower_bound - capacity);
    parts.notes.push_back(fmt::format("lower bound: {} bytes", result.lower_bound));
  } else {
    parts.what = fmt::format("no layout within {} bytes was found, nor proved impossible", capacity);
    parts.notes.push_back(fmt::format("lower bound: {} bytes", result.lower_bound));
  }
  parts.help = fmt::format("a capacity of {} fits; a longer --timeout may find less", result.height);
  if (result.proved_optimal) parts.help = fmt::format("a capacity of {} fits", result.height);
  fmt::print(stderr, "{}\n", Error(ErrorCode::infeasible_budget, parts).what());
}

ExitCode run_layout(const LayoutCommand& command) {
  const Stopwatch watch;
  std::optional<std::int64_t> capacity;
  if (!command.capacity.empty()) capacity = parse_size("--capacity", command.capacity);
  const PackTable table = read_pack_table(command.input, capacity);

  PackOptions options{.capacity = capacity, .work = default_work};
  if (command.timeout) {
    options.work = std::numeric_limits<std::int64_t>::max();
    options.seconds = command.timeout;
  }
  const PackResult result = pack(table.items, options);
  const auto fault = check_packing(table.items, result.offsets);
  TM_CHECK(!fault, "{}", fault->what);
  const double seconds = watch.seconds();

  const bool fits = result.status == PackStatus::fits;
  if (fits && !command.output.empty()) write_text(command.output, print_pack_table(table, result.offsets));
  (command.json ? print_pack_json : print_pack)(result, table.items.size(), capacity, seconds);
  flush_output();
  if (!fits) explain_misfit(result, *capacity, command.input);
  return exit_code_of(result.status);
}

}  // namespace

void add_layout(CLI::App& app, int& exit_code) {
  auto command = std::make_shared<LayoutCommand>();
  CLI::App* layout = app.add_subcommand("layout", "pack buffers with known lifetimes into one arena");
  layout
      ->add_option(
          "input", command->input,
          "a table as CSV with the columns id, lower, upper (the half-open lifetime) and size (bytes)")
      ->required()
      ->type_name("FILE");
  add_text_option(*layout, "--capacity", command->capacity,
                  "stop at a layout within this many bytes (also 64KiB, 1MiB), or prove that there is none")
      ->type_name("BYTES")
      ->default_str("the smallest arena that is found");
  layout
      ->add_option_function<std::string>(
          "--timeout",
          [command](const std::string& text) { command->timeout = parse_seconds("--timeout", text); },
          "stop after this many seconds with the best found")
      ->type_name("SECONDS")
      ->default_str("an amount of work, the same on every machine");
  add_text_option(*layout, "--output", command->output, "write the table with a column `offset` to this file")
      ->type_name("FILE")
      ->default_str("none");
  layout->add_flag("--json", command->json, "the figures as JSON");
  describe(*layout,
           {.about = "Gives each buffer an offset, so that no two that are alive together overlap and the "
                     "arena is as low "
                     "as possible. The lower bound, the most bytes alive at once, stands beside it.",
            .examples = {{"tidemark layout buffers.csv --output placed.csv", "the smallest arena it finds"},
                         {"tidemark layout buffers.csv --capacity 1MiB --timeout 10",
                          "do they fit, and if not, is that proved?"}},
            .exits = {exit_ok, exit_failure, exit_usage, exit_infeasible, exit_bad_input, exit_gave_up}});
  layout->callback([command, &exit_code] { exit_code = run_layout(*command); });
}

}  // namespace tidemark::cli
