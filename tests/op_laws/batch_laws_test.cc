// What the rules of opt/batch_rules.h and the expansions of ops say of a batch that is cut holds: for every
// op, every sample and every way to give it operands that grow with the batch, each part computes its part
// of the result, or its summand of it. An op of which nothing is said is refused, which is never wrong.
#include <gtest/gtest.h>

#include <set>

#include "tests/support/law_case.h"
#include "tidemark/base/error.h"
#include "tidemark/ops/registry.h"
#include "tidemark/opt/batch_inside.h"

namespace tidemark::testing {
namespace {

constexpr std::int64_t parts = 2;

Literal part_of(const Literal& full, const BatchLayout& layout, const Type& type, std::int64_t part) {
  const PartsShape shape = parts_shape(layout, full.shape, parts);
  const auto row = static_cast<std::size_t>(shape.after * size_of(type.dtype));
  Literal result{type.dtype, type.shape, {}};
  for (std::int64_t b = 0; b < shape.before; ++b) {
    const auto at =
        full.bytes.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(b * parts + part) * row);
    result.bytes.insert(result.bytes.end(), at, at + static_cast<std::ptrdiff_t>(row));
  }
  return result;
}

Literal sum_of_parts(const Literal& a, const Literal& b) {
  std::vector<double> values = values_of(a);
  const std::vector<double> more = values_of(b);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += more[i];
  return literal_of(a.dtype, a.shape, values);
}

// Of what is computed in another order, or rounded before it is added up.
double tolerance_of(DType dtype) {
  return dtype == DType::f64 ? 1e-9 : is_float(dtype) && size_of(dtype) == 2 ? 0.05 : 1e-6;
}

class BatchLaw {
 public:
  explicit BatchLaw(const Op& op) : op_(op), rules_(find_op) {}

  void check(const LawCase& law) {
    std::vector<BatchClass> classes(law.sample.in.size());
    choose(law, classes, 0);
  }
  int held() const { return held_; }

 private:
  // Every operand as it is, with each of its axes twice as long, cut in two ways, or as a summand.
  void choose(const LawCase& law, std::vector<BatchClass>& classes, std::size_t operand) {
    if (operand == classes.size()) return try_sizes(law, classes);
    classes[operand] = {};
    choose(law, classes, operand + 1);
    const Type& type = law.sample.in[operand].type;
    const bool many = classes.size() > 3;  // too many ways to try them all: along one axis, cut in one way
    for (int axis = 0; axis < type.rank(); ++axis) {
      if (many && std::ranges::any_of(std::span(classes).first(operand), [&](const BatchClass& c) {
            return c.is(BatchRole::batched) && c.layout.axis != axis;
          }))
        continue;
      classes[operand] = batched_class({.axis = axis});
      choose(law, classes, operand + 1);
      if (type.shape[axis] > 1 && !many) {
        classes[operand] = batched_class({.axis = axis, .outer = type.shape[axis]});
        choose(law, classes, operand + 1);
      }
    }
    if (many) return;
    if (type.dtype == DType::f64) {
      classes[operand] = partial_class;
      choose(law, classes, operand + 1);
    }
  }

  // Sizes among the attributes grow along with the operands, or do not.
  void try_sizes(const LawCase& law, const std::vector<BatchClass>& classes) {
    try_attrs(law, classes, law.sample.attrs);
    const AttrSchema& schema = op_.schema();
    for (std::size_t i = 0; i < schema.size(); ++i) {
      if (schema[i].name != "shape" && schema[i].name != "limit") continue;
      for (int axis = 0; axis < std::get<Dims>(law.sample.attrs[i]).rank(); ++axis) {
        Attrs attrs = law.sample.attrs;
        std::get<Dims>(attrs[i])[axis] *= parts;
        try_attrs(law, classes, attrs);
      }
    }
  }

  void try_attrs(const LawCase& law, const std::vector<BatchClass>& classes, const Attrs& attrs) {
    std::vector<Type> small_in = law.types(), full_in = small_in;
    for (std::size_t i = 0; i < classes.size(); ++i) {
      if (classes[i].is(BatchRole::batched)) full_in[i].shape[classes[i].layout.axis] *= parts;
    }
    std::vector<Type> small_out, full_out;
    try {
      small_out = op_.infer({.op = &op_, .in = small_in, .attrs = &law.sample.attrs});
      full_out = op_.infer({.op = &op_, .in = full_in, .attrs = &attrs});
    } catch (const Error&) {  // operands that do not fit together
      return;
    }
    const Call full{.op = &op_, .in = full_in, .out = full_out, .attrs = &attrs};
    const Call small{.op = &op_, .in = small_in, .out = small_out, .attrs = &law.sample.attrs};
    const BatchCall call{full, small, classes, parts};
    const std::vector<BatchClass> found = batch_results(call, rules_);
    if (found.empty()) return;
    ++held_;
    compare(law, call, found);
  }

  void compare(const LawCase& law, const BatchCall& call, const std::vector<BatchClass>& found) {
    std::vector<Literal> full, small[parts];
    for (std::size_t i = 0; i < call.in.size(); ++i) {
      Sample::Operand operand = law.sample.in[i];
      operand.type = call.full.in[i];
      full.push_back(draw(operand, 77 + i));
      for (std::int64_t k = 0; k < parts; ++k) {
        if (call.in[i].is(BatchRole::batched)) {
          small[k].push_back(part_of(full[i], call.in[i].layout, call.small.in[i], k));
        } else {
          small[k].push_back(call.in[i].is(BatchRole::partial) && k > 0 ? draw(operand, 99 + i) : full[i]);
        }
      }
      if (call.in[i].is(BatchRole::partial)) full[i] = sum_of_parts(small[0][i], small[1][i]);
    }
    const std::vector<Literal> want = interpreted(op_, full, *call.full.attrs);
    const Attrs attrs = rules_.attrs_for(call);
    const std::vector<Literal> got[parts] = {interpreted(op_, small[0], attrs),
                                             interpreted(op_, small[1], attrs)};
    for (std::size_t r = 0; r < found.size(); ++r) {
      SCOPED_TRACE(law.name() + " result " + std::to_string(r));
      if (found[r].is(BatchRole::partial)) {
        expect_near(values_of(sum_of_parts(got[0][r], got[1][r])), values_of(want[r]),
                    tolerance_of(want[r].dtype));
        continue;
      }
      for (std::int64_t k = 0; k < parts; ++k) {
        const Literal part = found[r].is(BatchRole::batched)
                                 ? part_of(want[r], found[r].layout, call.small.out[r], k)
                                 : want[r];
        expect_near(values_of(got[k][r]), values_of(part), tolerance_of(part.dtype));
        if (found[r].is(BatchRole::batched) && found[r].layout.uniform)
          expect_near(values_of(got[0][r]), values_of(got[1][r]), 0);
      }
    }
  }

  const Op& op_;
  const BatchRules rules_;
  int held_ = 0;
};

TEST(BatchLaws, PartsOfABatchComputeTheirPartsOfResults) {
  std::set<std::string_view> cut;
  for (const Op* op : all_ops()) {
    BatchLaw law(*op);
    for (const LawCase& one : cases_of(*op)) {
      if (one.regions.empty() && one.dtype == DType::f64) law.check(one);
      if (HasFailure()) FAIL() << op->name;
    }
    if (law.held() > 0) cut.insert(op->name);
  }
  for (const std::string_view name : {"add",
                                      "select",

                                      "contract",
                                      "conv",
                                      "conv_weight_grad",
                                      "max_pool",
                                      "reduce_sum",
                                      "softmax",
                                      "softmax_grad",
                                      "layer_norm",
                                      "layer_norm_grad",
                                      "layer_norm_params",
                                      "group_norm",
                                      "group_norm_params",
                                      "cross_entropy",
                                      "cross_entropy_grad",
                                      "attention",
                                      "attention_grad",
                                      "take",
                                      "take_add",
                                      "gather",
                                      "scatter_add",
                                      "sort",
                                      "cumsum",
                                      "cholesky",
                                      "qr",
                                      "svd",
                                      "eigh",
                                      "det",
                                      "slogdet",
                                      "solve",
                                      "broadcast",
                                      "reshape",
                                      "transpose",
                                      "slice"}) {
    EXPECT_TRUE(cut.contains(name)) << name;
  }
}

}  // namespace
}  // namespace tidemark::testing
