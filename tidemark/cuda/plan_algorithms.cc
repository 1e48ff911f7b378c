#include "tidemark/cuda/plan_algorithms.h"

#include <fmt/format.h>

#include <charconv>

#include "tidemark/base/error.h"

namespace tidemark::cuda {
namespace {

constexpr std::size_t digits = 16;  // of a number

[[noreturn]] void refuse_plan(std::string what, std::string expected) {
  fail(ErrorCode::no_kernel,
       {.what = std::move(what),
        .expected = std::move(expected),
        .help = "run it there, or leave its `algorithms` out: they are then chosen here, and the last bits "
                "of results may be others"});
}

}  // namespace

std::string to_text(const ProductAlgorithm& algorithm) {
  std::string text;
  for (const std::uint64_t number : algorithm) text += fmt::format("{:016x}", number);
  return text;
}

std::optional<ProductAlgorithm> product_algorithm_of(const std::string& text) {
  ProductAlgorithm algorithm = {};
  if (text.size() != digits * algorithm.size()) return std::nullopt;
  for (std::size_t i = 0; i < algorithm.size(); ++i) {
    const char* const first = text.data() + digits * i;
    const auto [end, error] = std::from_chars(first, first + digits, algorithm[i], 16);
    if (error != std::errc() || end != first + digits) return std::nullopt;
  }
  return algorithm;
}

PlanAlgorithms::PlanAlgorithms(const PlannedAlgorithms& recorded, std::string machine)
    : machine_(std::move(machine)) {
  if (recorded.empty()) return;
  if (recorded.machine != machine_)
    refuse_plan(fmt::format("a plan with algorithms of `{}` on `{}`", recorded.machine, machine_),
                "the kind of GPU and the version of the library that they are of");
  for (const PlannedAlgorithms::Entry& entry : recorded.entries)
    recorded_.emplace(entry.form, entry.algorithm);
}

std::optional<std::string> PlanAlgorithms::recorded(const std::string& form) const {
  if (recorded_.empty()) return std::nullopt;
  const auto found = recorded_.find(form);
  if (found == recorded_.end())
    refuse_plan(fmt::format("the plan has algorithms, and none for `{}`", form),
                "one for each of its products and convolutions");
  return found->second;
}

void PlanAlgorithms::refuse(const std::string& form, std::string_view have) const {
  refuse_plan(fmt::format("the plan has `{}` for `{}`, which cannot run on `{}` with {}", recorded_.at(form),
                          form, machine_, have),
              "an algorithm that the library has here");
}

PlannedAlgorithms PlanAlgorithms::used() const {
  PlannedAlgorithms used{.machine = machine_};
  for (const auto& [form, algorithm] : used_) used.entries.push_back({form, algorithm});
  return used;
}

}  // namespace tidemark::cuda
