#include "tidemark/opt/optimize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/support/graph_text.h"
#include "tests/support/literals.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/ir/compare.h"
#include "tidemark/ops/contraction/contract.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/scalar/elementwise.h"

namespace tidemark {
namespace {

using testing::bit_difference;
using testing::literal_of;
using testing::NaNs;

OptOptions options() {
  return {.ops = known_ops(find_op),
          .evaluate = [](const Op& op, std::span<const Literal> operands, const Attrs& attrs) {
            ThreadPool pool(1);
            return interpret(op, operands, attrs, pool);
          }};
}

// Graphs full of what the passes look for: constants 0, 1, -1, 2, repeated work, movement that undoes
// movement, masks.
class RandomGraph {
 public:
  explicit RandomGraph(std::uint64_t seed) : random_(seed) {
    const DType dtypes[] = {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32};
    dtype_ = dtypes[below(5)];
    for (const Shape& shape : {Shape{2, 3}, Shape{2, 3}, Shape{3}, Shape{}}) {
      values_.push_back(builder_.input({dtype_, shape}, "in" + std::to_string(values_.size())));
    }
    masks_.push_back(builder_.input({DType::boolean, {2, 3}}, "mask"));
    graph_.inputs()[0].donated = below(2) == 0;
  }

  Graph build(int steps) {
    for (int i = 0; i < steps; ++i) {
      builder_.set_where({"random.cc", static_cast<std::uint32_t>(i)});
      step();
      if (below(5) == 0) graph_[values_.back().id()].name = "v" + std::to_string(i);
    }
    for (int i = 0; i < 4; ++i) graph_.add_output(pick().id());
    graph_.add_output(masks_.back().id());
    return std::move(graph_);
  }

  std::vector<Literal> inputs(const Graph& graph) {
    constexpr double special[] = {0.0, -0.0, 1, -1, 0.5, 2, 1e30, -1e-40, 3.75, INFINITY, -INFINITY, NAN};
    std::vector<Literal> list;
    for (const Input& input : graph.inputs()) {
      const Type& type = graph.type(input.value);
      list.push_back(dispatch(type.dtype, [&]<class T>() {
        std::vector<T> elements;
        for (std::int64_t i = 0; i < type.count(); ++i) {
          if constexpr (std::is_integral_v<T>) {
            elements.push_back(static_cast<T>(below(7)));
          } else {
            using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
            elements.push_back(T(static_cast<Wide>(below(2) ? special[below(std::size(special))]
                                                            : static_cast<double>(below(1000)) / 128 - 4)));
          }
        }
        return literal_of<T>(type.shape, elements);
      }));
    }
    return list;
  }

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  Var pick() {
    return values_[below(2) ? values_.size() - 1 - below(std::min<std::size_t>(values_.size(), 5))
                            : below(values_.size())];
  }
  Var pick_mask() { return masks_[below(masks_.size())]; }
  Var keep(const Var& v) { return values_.emplace_back(v); }
  bool fits(const Var& a, const Var& b) {
    for (int i = 1; i <= std::min(a.shape().rank(), b.shape().rank()); ++i) {
      const auto m = a.shape()[a.shape().rank() - i], n = b.shape()[b.shape().rank() - i];
      if (m != n && m != 1 && n != 1) return false;
    }
    return true;
  }

  void step() {
    const Var x = pick();
    Var y = pick();
    if (!fits(x, y)) y = x;
    switch (below(12)) {
      case 0:
      case 1:
        return arithmetic(x, y);
      case 2: {
        const double c[] = {0.0, -0.0, 1, -1, 2, 3, -8, 0.5};
        return arithmetic(x, constant_like(x, c[below(std::size(c))]));
      }
      case 3:
        return void(keep(neg(x)));
      case 4:
        return void(keep(below(2) ? abs(x) : below(2) ? relu(x) : square(x)));
      case 5:
        return movement(x);
      case 6:
        return movement(x);
      case 7:
        return void(masks_.push_back(below(2)   ? less(x, y)
                                     : below(2) ? equal(x, y)
                                                : greater(x, constant_like(x, 0))));
      case 8: {
        const Var m = below(2) ? logical_not(pick_mask()) : pick_mask();
        if (fits(m, x) && fits(m, y)) keep(select(m, x, y));
        return;
      }
      case 9: {
        const DType through[] = {DType::f64, DType::f32, DType::i64, DType::f16};
        return void(keep(cast(cast(x, through[below(4)]), dtype_)));
      }
      case 10:
        return reduction(x);
      default: {
        const Var z = keep(x);
        return arithmetic(full(builder_, x.type(), below(2) ? 1 : 0), z);
      }
    }
  }

  void arithmetic(const Var& x, const Var& y) {
    switch (below(6)) {
      case 0:
      case 1:
        keep(add(x, y));
        return;
      case 2:
        keep(sub(x, y));
        return;
      case 3:
        keep(mul(x, y));
        return;
      case 4:
        keep(div(x, y));
        return;
      default:
        keep(maximum(x, y));
    }
  }

  void movement(const Var& x) {
    const int rank = x.shape().rank();
    Dims order;
    for (int i = rank - 1; i >= 0; --i) order.push_back(i);
    switch (below(6)) {
      case 0:
        keep(transpose(x, order));
        return;
      case 1:
        keep(reshape(x, {x.type().count()}));
        return;
      case 2:
        if (rank < 3) {
          Shape s = x.shape();
          s.insert(0, 2);
          keep(broadcast(x, s));
        }
        return;
      case 3: {
        Dims start, limit, step;
        for (std::int64_t n : x.shape()) {
          start.push_back(static_cast<std::int64_t>(below(static_cast<std::size_t>(n) + 1)) / 2);
          limit.push_back(n);
          step.push_back(1 + static_cast<std::int64_t>(below(2)));
        }
        keep(slice(x, start, limit, step));
        return;
      }
      case 4:
        if (rank > 0) keep(flip(x, {0}));
        return;
      default:
        if (rank > 0) keep(expand_dims(x, 0));
    }
    if (values_.back().type().count() > 200) values_.pop_back();
  }

  void reduction(const Var& x) {
    if (x.shape().rank() == 0) return;
    const Dims axes = below(2) ? Dims{} : Dims{0};
    if (!axes.empty() && x.shape()[0] == 0) return;
    keep(below(2) ? reduce_max(x, axes, below(2)) : below(2) ? reduce_prod(x, axes) : reduce_sum(x, axes));
  }

  std::mt19937_64 random_;
  DType dtype_;
  Graph graph_;
  Builder builder_{graph_};
  std::vector<Var> values_, masks_;
};

TEST(Optimize, RandomGraphsKeepEveryBit) {
  ThreadPool pool(1);
  std::size_t before = 0, after = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    RandomGraph random(seed);
    const Graph graph = random.build(40);
    const std::vector<Literal> data = random.inputs(graph);
    const Graph better = optimize(graph, options());
    ASSERT_EQ(bit_difference(interpret(graph, data, pool), interpret(better, data, pool), NaNs::alike), "")
        << "seed " << seed << "\n"
        << print(graph) << print(better);
    ASSERT_EQ(better.inputs().size(), graph.inputs().size());
    before += graph.nodes().size(), after += better.nodes().size();
  }
  EXPECT_LT(2 * after, before);  // the law is not met by doing nothing
}

TEST(Optimize, EveryPassAloneKeepsEveryBit) {
  ThreadPool pool(1);
  for (const PassInfo& only : opt_pass_list()) {
    OptOptions alone = options();
    for (const PassInfo& pass : opt_pass_list()) {
      if (pass.name != only.name) alone.skip.emplace_back(pass.name);
    }
    for (std::uint64_t seed = 1000; seed < 1050; ++seed) {
      RandomGraph random(seed);
      const Graph graph = random.build(40);
      const std::vector<Literal> data = random.inputs(graph);
      ASSERT_EQ(bit_difference(interpret(graph, data, pool), interpret(optimize(graph, alone), data, pool),
                               NaNs::alike),
                "")
          << only.name << ", seed " << seed << "\n"
          << print(graph);
    }
  }
}

TEST(Optimize, TheResultIsAFixedPointAndSurvivesText) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Graph once = optimize(RandomGraph(seed).build(60), options());
    EXPECT_TRUE(same_graph(optimize(once, options()), once)) << seed;
    EXPECT_TRUE(same_graph(graph_from(print(once)), once)) << seed;
  }
}

TEST(Optimize, ReportsEveryPassAndSkipsByName) {
  const Graph graph = RandomGraph(3).build(30);
  OptOptions some = options();
  some.skip = {"cse", "narrow"};
  OptReport report;
  optimize(graph, some, &report);
  ASSERT_EQ(report.passes.size(), opt_pass_list().size());
  EXPECT_GE(report.rounds, 2);
  for (const PassReport& pass : report.passes) {
    const bool skipped = pass.name == "cse" || pass.name == "narrow",
               once = pass.name == "gather" || pass.name == "accumulate";
    EXPECT_EQ(pass.skipped, skipped) << pass.name;
    EXPECT_EQ(pass.runs, skipped ? 0 : once ? 1 : report.rounds) << pass.name;
    EXPECT_GE(pass.seconds, 0);
  }
  some.skip = {"simplfy"};
  EXPECT_THAT([&] { optimize(graph, some); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr("there is no pass `simplfy`")));
}

TEST(Optimize, SkippingEverythingChangesNothing) {
  const Graph graph = RandomGraph(4).build(30);
  OptOptions none;
  for (const PassInfo& pass : opt_pass_list()) none.skip.emplace_back(pass.name);
  EXPECT_TRUE(same_graph(optimize(graph, none), graph));
}

TEST(Optimize, LargeGraphsPass) {
  Graph graph;
  Builder builder(graph);
  Var x = builder.input({DType::f32, {16}}, "x"), h = x;
  for (int i = 0; i < 10000; ++i) h = relu(h * 1.0 + x) - constant_like(h, i % 7);
  graph.add_output(h.id());
  const Graph better = optimize(graph, options());
  EXPECT_LT(better.nodes().size(), 30010u);
  EXPECT_GE(better.nodes().size(), 28000u);
}

}  // namespace
}  // namespace tidemark
