// Random training steps within random budgets and with random sets of choices (CompileOptions::allow): what
// every one of them must keep.
#pragma once
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "tests/programs/draw.h"
#include "tests/support/scratch_folder.h"
#include "tidemark/ir/graph.h"
#include "tidemark/ops/cpu_target.h"
#include "tidemark/plan/verify/verify.h"
#include "tidemark/tidemark.h"

namespace tidemark::testing {

struct AllowedNet {
  std::vector<Tensor> weights;
  TM_FIELDS(AllowedNet, weights)
};

// A network over examples that do not meet: layers, residual connections, normalisations, a loop now and
// then; from `first_reversible` on reversible blocks too, from `first_looping` on longer loops as well, from
// `first_masked` on masks and positions instead of both. The same seed gives the same one.
class RandomTraining {
 public:
  static constexpr std::uint64_t first_reversible = 20'000, first_looping = 30'000, first_masked = 40'000;

  explicit RandomTraining(std::uint64_t seed) : seed_(seed) {
    Draw draw = Draw(seed).branch(1);
    width_ = draw.from(std::vector<std::int64_t>{16, 32, 48});
    layers_ = draw.between(2, 5);
    for (int i = 0; i < layers_; ++i) {
      const auto number = static_cast<std::int64_t>(draw.below(1000));
      net_.weights.push_back(random_normal(key(number), {width_, width_}, 0, 0.2));
    }
    const std::int64_t batch = draw.from(std::vector<std::int64_t>{4, 6, 8});
    const std::int64_t tokens = draw.from(std::vector<std::int64_t>{16, 32});
    x_ = random_normal(key(draw.below(1000)), {batch, tokens, width_});
  }

  const AllowedNet& net() const { return net_; }
  const Tensor& x() const { return x_; }

  Tensor operator()(const AllowedNet& net, const Tensor& x) const {
    Draw draw = Draw(seed_).branch(2);
    Tensor h = x;
    for (const Tensor& w : net.weights) {
      if (seed_ >= first_looping && seed_ < first_masked && draw.chance(50)) {
        h = loop(draw, h, w);
        continue;
      }
      const bool other = seed_ >= first_reversible && draw.chance(60);
      h = !other ? layer(draw, h, w) : seed_ >= first_masked ? masked(draw, h, w) : block(draw, h, w);
    }
    return mean(square(h));
  }

 private:
  static Tensor bounded(int kind, const Tensor& x) {
    switch (kind) {
      case 0:
        return tanh(x);
      case 1:
        return relu(x);
      case 2:
        return sigmoid(x) * x;
      default:
        return sin(x);
    }
  }
  static Tensor layer(Draw& draw, const Tensor& h, const Tensor& w) {
    const int kind = draw.below(4), shape = draw.below(10), steps = draw.between(2, 5);
    if (shape == 0) {
      return repeat(
          steps, [&](const Tensor& y) { return bounded(kind, matmul(y, w)); }, h);
    }
    const Tensor y = bounded(kind, matmul(h, w));
    if (shape <= 3) return h + y;
    if (shape == 4) return softmax(y, -1) * h;
    if (shape == 5) return y * exp(h * 0.1);
    return y;
  }

  // Whose gradient reads booleans or positions.
  Tensor masked(Draw& draw, const Tensor& h, const Tensor& w) const {
    const Tensor y = matmul(h, w);
    switch (draw.below(4)) {
      case 0:
        return select(y > 0, y, y * 0.1);
      case 1:
        return cast(y > 0.1, DType::f32) * y + h;
      case 2:
        return sort(y, -1).first;
      default:
        return one_hot(argmax(y, -1), width_) * y + h;
    }
  }

  // Its ys, or what it carried last.
  static Tensor loop(Draw& draw, const Tensor& h, const Tensor& w) {
    const int kind = draw.below(4), steps = draw.between(6, 20);
    if (draw.chance(50)) {
      return repeat(
          steps, [&](const Tensor& y) { return bounded(kind, matmul(y, w)) * 0.9 + y * 0.1; }, h);
    }
    const Tensor parts = swap_axes(h, 0, 1);  // a step for each token
    const auto body = [&](const Tensor& state, const Tensor& x) {
      const Tensor next = bounded(kind, matmul(state, w) + x);
      return std::pair(next, sin(next) * state);
    };
    return swap_axes(scan(body, zeros({h.size(0), h.size(2)}), parts).second, 0, 1) + h;
  }

  Tensor block(Draw& draw, const Tensor& h, const Tensor& w) const {
    const int f = draw.below(4), g = draw.below(4);
    const std::int64_t half = width_ / 2;
    const Tensor left = w.at(Range{0, half}, Range{0, half}),
                 right = w.at(Range{half, width_}, Range{0, half});
    const std::vector<Tensor> halves = split(h, -1, {half, half});
    const auto [y1, y2] =
        reversible([&](const Tensor& x) { return bounded(f, matmul(x, left)); },
                   [&](const Tensor& x) { return bounded(g, matmul(x, right)); })(halves[0], halves[1]);
    return concat({y1, y2}, -1);
  }

  std::uint64_t seed_;
  std::int64_t width_ = 0;
  int layers_ = 0;
  AllowedNet net_;
  Tensor x_;
};

struct AllowedCase {
  Choices fewer, more;  // the first a part of the second
  double share = 0;     // of the way from the smallest budget of the first to what is free
};
inline AllowedCase random_sets(std::uint64_t seed) {
  Draw draw = Draw(seed).branch(3);
  AllowedCase made{.fewer = {Choice::keep}, .more = {Choice::keep}};
  for (const Choice choice :
       {Choice::recompute, Choice::compress, Choice::disk, Choice::invert, Choice::split}) {
    const int kind = draw.below(3);  // in neither, in one, in both
    if (kind == 2) made.fewer = made.fewer.with(choice);
    if (kind >= 1) made.more = made.more.with(choice);
  }
  made.share = draw.chance(30) ? 0 : 0.01 * draw.below(100);
  return made;
}

struct AllowedOutcome {
  std::string wrong;  // "" : nothing
  // What the plan of the fewer does; `undone` of either.
  bool again = false, packed = false, moved = false, undone = false, cut = false;
};

// Of one seed.
class AllowedLaw {
 public:
  explicit AllowedLaw(const std::string& folder) : folder_(folder) {}

  AllowedOutcome check(std::uint64_t seed) const {
    const RandomTraining training(seed);
    const AllowedCase sets = random_sets(seed);
    AllowedOutcome outcome;
    const auto free = compile(value_and_grad(training));
    const auto expected = free(training.net(), training.x());
    const auto fewer = step(training, free.plan().peak(), sets.fewer);
    const Bytes least = fewer.smallest(training.net(), training.x()).memory;
    const Bytes most = std::max(least, free.plan().peak());  // the free plan is made with more effort
    const Bytes budget(least.count +
                       static_cast<std::int64_t>(sets.share * static_cast<double>(most.count - least.count)));
    const std::string about = "{" + to_string(sets.fewer) + "} of {" + to_string(sets.more) + "} within " +
                              std::to_string(budget.count) + " of " + std::to_string(most.count) + " bytes: ";
    fewer.set_memory(budget);
    const auto planned = fewer.try_prepare(training.net(), training.x());
    if (!planned)
      return outcome.wrong = about + "what was said to fit does not: " + planned.error().what(), outcome;
    const Plan& plan = planned.value().plan;
    note(planned.value(), outcome);
    outcome.wrong = faults(planned.value(), sets.fewer, budget, outcome);
    if (outcome.wrong.empty()) outcome.wrong = differences(training, fewer, expected, outcome);
    if (outcome.wrong.empty()) {
      const auto more = step(training, budget, sets.more);
      const auto other = more.try_prepare(training.net(), training.x());
      AllowedOutcome others;
      if (!other) {
        outcome.wrong = std::string("does not fit with more allowed: ") + other.error().what();
      } else if (other.value().plan.seconds > plan.seconds * (1 + tolerance)) {
        outcome.wrong = fmt::format("with more allowed it takes {:.4f} of the time\n{}\n{}",
                                    other.value().plan.seconds / plan.seconds, planned.value().summary(),
                                    other.value().summary());
      } else {
        note(other.value(), others);
        outcome.undone |= others.undone;
        outcome.wrong = faults(other.value(), sets.more, budget, others);
        if (outcome.wrong.empty()) outcome.wrong = differences(training, more, expected, others);
      }
    }
    if (!outcome.wrong.empty()) outcome.wrong = about + outcome.wrong;
    return outcome;
  }

 private:
  static constexpr double tolerance = 1e-4;  // of the time: less is not worth an error in gradients

  Compiled<decltype(value_and_grad(std::declval<RandomTraining>()))> step(const RandomTraining& training,
                                                                          Bytes memory,
                                                                          const Choices& allow) const {
    CompileOptions options{.memory = memory, .allow = allow, .effort = 0.003};
    if (allow.has(Choice::disk)) options.disk = {folder_, Bytes(std::int64_t{64} << 20)};
    if (allow.has(Choice::compress)) options.lossy = Lossy{.error = 4e-3};
    if (allow.has(Choice::split)) options.accumulate = automatic;
    options.batch_arguments = {1};
    return compile(value_and_grad(training), options);
  }

  static void note(const PlannedGraph& planned, AllowedOutcome& outcome) {
    std::set<std::uint32_t> ran;
    for (const Step& step : planned.plan.steps) {
      outcome.moved |= step.kind == StepKind::copy;
      if (step.kind == StepKind::compute) outcome.again |= !ran.insert(step.node.index).second;
    }
    outcome.again |= !planned.loops().empty();
    for (const Node& node : planned.graph.nodes()) outcome.undone |= node.op->undoes;
    outcome.packed = planned.summary().find("compressed") != std::string::npos;
    outcome.cut = planned.program->micro_batches().count > 1;
  }

  static std::string faults(const PlannedGraph& planned, const Choices& allow, Bytes budget,
                            const AllowedOutcome& does) {
    const std::vector<std::string> found = problems(planned.graph, planned.plan, cpu_target());
    if (!found.empty()) return found[0];
    if (planned.peak() > budget) return "above the budget";
    for (const PlanMemory& memory : planned.plan.further) {
      if (memory.peak() > memory.budget) return "above the budget of " + memory.name;
    }
    if (does.again && !allow.has(Choice::recompute)) return "something runs again\n" + planned.summary();
    if (does.packed && !allow.has(Choice::compress)) return "a lossy form is used";
    if (does.moved && !allow.has(Choice::disk)) return "the disk is used";
    if (does.undone && !allow.has(Choice::invert)) return "a block is undone";
    if (does.cut && !allow.has(Choice::split)) return "the batch is cut";
    return "";
  }

  template <class Step, class Results>
  static std::string differences(const RandomTraining& training, const Step& step, const Results& expected,
                                 const AllowedOutcome& does) {
    const auto [value, gradient] = step(training.net(), training.x());
    if (does.packed) {
      const GradientError error = step.gradient_error(training.net(), training.x());
      for (const LossyValue& lossy : error.values) {
        if (lossy.measured && *lossy.measured > lossy.bound * (1 + 1e-6))
          return "a copy is further off than said";
      }
    }
    const double loss = expected.first.item();
    if (does.cut ? std::abs(value.item() - loss) > 1e-5 * std::abs(loss) : value.item() != loss)
      return fmt::format("the loss is {} instead of {}", value.item(), loss);
    for (std::size_t i = 0; i < gradient.weights.size() && !does.packed; ++i) {
      const std::vector<double> a = gradient.weights[i].to_vector(),
                                b = expected.second.weights[i].to_vector();
      if (!does.cut && a != b) return "other bits in a gradient";
      double largest = 0, difference = 0;
      for (std::size_t k = 0; k < a.size(); ++k) {
        largest = std::max(largest, std::abs(b[k]));
        difference = std::max(difference, std::abs(a[k] - b[k]));
      }
      if (difference > 1e-4 * largest) return "a gradient is off";
    }
    return "";
  }

  const std::string folder_;
};

}  // namespace tidemark::testing
