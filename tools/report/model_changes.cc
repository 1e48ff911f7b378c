#include "tools/report/model_changes.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/engine/inverse_search.h"
#include "tidemark/engine/loop_budget.h"
#include "tidemark/engine/micro_batches.h"
#include "tidemark/engine/plan_target.h"
#include "tidemark/engine/program.h"
#include "tidemark/nn/zoo.h"
#include "tidemark/plan/passes/proposals.h"

namespace tidemark::cli {

namespace {

constexpr double eight_bits = 0.004;

class ModelChanges {
 public:
  ModelChanges(const ModelOption& model, const std::optional<Lossy>& lossy, const PlanOptions& options,
               double seconds)
      : model_(model),
        known_(nn::find_in_zoo(model.model)),
        lossy_(lossy),
        quick_(options),
        seconds_(seconds) {
    quick_.effort = options.effort.at_most(Effort::quick);  // that it fits is asked, not how fast it is
    quick_.after = {};
    quick_.one_round = true;
    quick_.floor = false;
    quick_.warm_start.clear();
  }

  std::vector<Proposal> list() {
    if (known_) {
      size("--batch", &ModelOption::batch, batch(), model_.split, 1);
      if (model_.split == 1) micro_batches();
    }
    if (quick_.tiers.empty()) further_memory(host_memory_name, Choice::host);
    if (quick_.tiers.empty()) further_memory(disk_memory_name, Choice::disk);
    if (!known_) return std::move(list_);
    if (!known_->context.unit.empty())
      size("--context", &ModelOption::context, model_.context.value_or(known_->context.standard),
           known_->context.multiple_of, known_->context.least);
    if (!lossy_) lossy_copies();
    if (model_.dtype.empty() ? known_->dtype == DType::f32 : model_.dtype == "f32")
      name("--dtype bf16", &ModelOption::dtype, "bf16");
    const auto optimizer = nn::optimizer_named(model_.optimizer).value_or(known_->optimizer);
    if (optimizer != nn::OptimizerKind::none && optimizer != nn::OptimizerKind::sgd)
      name("--optimizer sgd", &ModelOption::optimizer, "sgd");
    return std::move(list_);
  }

 private:
  std::int64_t batch() const { return model_.batch.value_or(known_->batch); }

  using Changed = std::function<ModelOption(std::int64_t size)>;
  Graph lowered(const ModelOption& model, const std::optional<Lossy>& lossy) const {
    const MarkedReads marked(lossy ? StandIns::lossy : StandIns::exact);
    const Graph traced = model.load();
    const Choices allow = lossy ? quick_.allow.with(Choice::compress) : quick_.allow;
    return lower_backward_values(traced, extreme_values(traced, lossy, allow).back());
  }
  Proposal proposal(std::string what, const Changed& changed, PlanOptions options,
                    const std::optional<Lossy>& lossy) const {
    Proposal made{.what = std::move(what), .graph = {}, .options = std::move(options)};
    made.graph = [this, changed, lossy](std::int64_t value) {
      const std::int64_t loops = quick_.allow.has(Choice::recompute) ? 0 : unlimited_memory;
      return prepare_graph(lowered(changed(value), lossy), {}, nullptr, loops, target_of(quick_));
    };
    made.with_loops = [this, changed, lossy](std::int64_t value,
                                             const PlanOptions& with) -> std::optional<Plan> {
      const Graph graph = lowered(changed(value), lossy);
      if (!loop_memory_range(graph).any) return {};
      PlanWithLoops found = plan_with_loops(graph, {}, with);
      if (!found.plan) return {};
      return std::move(found.plan).value();
    };
    return made;
  }
  Proposal proposal(std::string what, const Changed& changed) const {
    return proposal(std::move(what), changed, quick_, lossy_);
  }
  template <class Field, class Value>
  ModelOption with(Field field, const Value& value) const {
    ModelOption other = model_;
    other.*field = value;
    return other;
  }

  void size(std::string what, std::optional<std::int64_t> ModelOption::*field, std::int64_t from,
            std::int64_t unit, std::int64_t least) {
    Proposal change =
        proposal(std::move(what), [this, field](std::int64_t value) { return with(field, value); });
    change.from = from, change.unit = unit, change.least = least;
    list_.push_back(std::move(change));
  }
  void name(std::string what, std::string ModelOption::*field, const std::string& value) {
    list_.push_back(
        proposal(std::move(what), [this, field, value](std::int64_t) { return with(field, value); }));
  }
  void micro_batches() {
    std::vector<std::int64_t> counts = micro_batch_counts(batch());
    counts.erase(counts.begin());  // the batch as it is
    if (counts.empty()) return;
    Proposal change =
        proposal("--split {}", [this](std::int64_t count) { return with(&ModelOption::split, count); });
    change.sizes = std::move(counts), change.seconds = seconds_;
    list_.push_back(std::move(change));
  }
  void further_memory(std::string_view name, Choice choice) {
    const Machine& machine = quick_.machine ? *quick_.machine : reference_machine();
    const auto memory = std::ranges::find(machine.further, name, &MachineMemory::name);
    if (memory == machine.further.end()) return;
    PlanOptions with_tier = quick_;
    with_tier.allow = with_tier.allow.with(choice);
    with_tier.tiers = {{std::string(name), memory->bytes}};
    Proposal change = proposal(
        fmt::format("--tier {}={{}}", name), [this](std::int64_t) { return model_; }, std::move(with_tier),
        lossy_);
    change.finds_tier = true, change.seconds = seconds_;
    list_.push_back(std::move(change));
  }
  void lossy_copies() {
    Proposal change = proposal(
        fmt::format("--lossy {}", eight_bits), [this](std::int64_t) { return model_; }, quick_,
        Lossy{eight_bits});
    change.seconds = seconds_;
    list_.push_back(std::move(change));
  }

  const ModelOption& model_;
  const nn::ZooModel* known_;
  const std::optional<Lossy>& lossy_;
  PlanOptions quick_;
  const double seconds_;
  std::vector<Proposal> list_;
};

}  // namespace

std::vector<std::string> changes_of_model(const ModelOption& model, const std::optional<Lossy>& lossy,
                                          const PlanOptions& options, double seconds) {
  ModelChanges changes(model, lossy, options, seconds);
  return changes_that_fit(changes.list(), target_of(options));
}

}  // namespace tidemark::cli
