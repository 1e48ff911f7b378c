#include "tools/commands/ops.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "tidemark/ops/cpu_kernels.h"
#include "tidemark/ops/registry.h"
#include "tools/exit_code.h"
#include "tools/help/manual.h"
#include "tools/report/print_figures.h"

namespace tidemark::cli {
namespace {

std::string dtypes_text(const Op& op) {
  if (op.dtypes.bits == any_dtype.bits) return "any";
  if (op.dtypes.bits == floats.bits) return "floats";
  if (op.dtypes.bits == numbers.bits) return "numbers";
  std::string text;
  for (int t = 0; t < dtype_count; ++t) {
    if (!op.dtypes.contains(static_cast<DType>(t))) continue;
    text += fmt::format("{}{}", text.empty() ? "" : " ", name_of(static_cast<DType>(t)));
  }
  return text;
}

std::string derivative_text(const Op& op) {
  if (op.derivative == Derivative::zero) return "zero";
  if (op.derivative == Derivative::undefined) return "none";
  std::string text;
  const auto add = [&](bool has, std::string_view name) {
    if (has) text += fmt::format("{}{}", text.empty() ? "" : "+", name);
  };
  add(op.vjp, "vjp");
  add(op.jvp, "jvp");
  add(op.expand, "expand");
  return text;
}

ExecutionFacts facts_of(const Op& op) {
  const CpuKernel* kernel = find_cpu_kernel(op);
  return kernel ? kernel->facts : ExecutionFacts{};
}

std::vector<std::string> attribute_names(const Op& op) {
  std::vector<std::string> names;
  for (const AttrSpec& spec : op.schema()) names.emplace_back(spec.name);
  return names;
}

void print_json() {
  nlohmann::json list = nlohmann::json::array();
  for (const Op* op : all_ops()) {
    const ExecutionFacts facts = facts_of(*op);
    list.push_back({{"name", op->name},
                    {"kind", name_of(op->kind)},
                    {"dtypes", dtypes_text(*op)},
                    {"derivative", derivative_text(*op)},
                    {"replay", name_of(op->replay)},
                    {"in_place", facts.in_place != nullptr},
                    {"view", op->view != nullptr},
                    {"strided", facts.strided != nullptr},
                    {"kernel", runs_on_cpu(*op)},
                    {"attributes", attribute_names(*op)}});
  }
  print_figures(list);
}

void print_table() {
  fmt::print("{:<22} {:<12} {:<14} {:<16} {:<7} {:<9} {:<5} {:<8} {:<7} {}\n", "op", "kind", "dtypes",
             "derivative", "replay", "in place", "view", "strided", "kernel", "attributes");
  for (const Op* op : all_ops()) {
    const ExecutionFacts facts = facts_of(*op);
    fmt::print("{:<22} {:<12} {:<14} {:<16} {:<7} {:<9} {:<5} {:<8} {:<7} {}\n", op->name, name_of(op->kind),
               dtypes_text(*op), derivative_text(*op), name_of(op->replay), facts.in_place ? "yes" : "-",
               op->view ? "yes" : "-", facts.strided ? "yes" : "-", runs_on_cpu(*op) ? "cpu" : "-",
               fmt::join(attribute_names(*op), " "));
  }
  fmt::print("\n{} ops\n", all_ops().size());
}

}  // namespace

void add_ops(CLI::App& app, int& exit_code) {
  auto json = std::make_shared<bool>(false);
  CLI::App* ops = app.add_subcommand("ops", "the table of operations and their facts");
  ops->add_flag("--json", *json, "as JSON");
  describe(
      *ops,
      {.about =
           "Lists every operation of graphs: its kind, the dtypes that it takes, how it is differentiated, "
           "whether it may run again, in place, on strided operands, and its attributes.",
       .examples = {{"tidemark ops", "the table"}, {"tidemark ops --json", "the same for a program"}},
       .exits = {exit_ok, exit_failure, exit_usage}});
  ops->callback([json, &exit_code] {
    *json ? print_json() : print_table();
    exit_code = exit_ok;
  });
}

}  // namespace tidemark::cli
