// Random graphs of fake ops for laws about budgets: a structure (chain, layers, series-parallel, U, fan-out),
// with or without a way back that reads what the way there made, of ops that the seed seasons: several
// results, in-place updates, views, scratch, donated inputs, effects, seeded randomness, and values that may
// be made only once, by themselves or in a region. The same seed gives the same graph, with every compiler:
// no two draws are arguments of one call, which may be evaluated in any order.
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>

#include "tests/support/fake_ops.h"

namespace tidemark::fake {

// Random, its key being an operand: may run again.
inline const Op seeded = {
    .name = "seeded",
    .kind = OpKind::random,
    .replay = Replay::seeded,
    .dtypes = any_dtype,
    .results = -1,
    .schema = &schema_of<WorkAttrs>,
    .infer = &detail::infer_work,
};
// Not the same when it runs again.
inline const Op once = {
    .name = "once",
    .kind = OpKind::random,
    .replay = Replay::never,
    .dtypes = any_dtype,
    .results = -1,
    .schema = &schema_of<WorkAttrs>,
    .infer = &detail::infer_work,
};

class BudgetGraph {
 public:
  // About `nodes` nodes.
  BudgetGraph(unsigned seed, int nodes) : random_(seed * 7919 + 1), sketch_(std::make_unique<Sketch>()) {
    const unsigned structure = seed % 5;
    const bool back = seed / 5 % 3 != 0;
    season_ = seed / 15 % 6;
    const int forward = std::max(3, back ? nodes / 2 : nodes);
    const int inputs = 1 + draw(2);
    for (int i = 0; i < inputs; ++i) {
      const int rows = 1 + draw(8);
      const bool donated = season_ > 2 && draw(2) == 0;
      inputs_.push_back(sketch_->input(rows, 64, "x", donated));
    }
    constexpr const char* names[] = {"chain", "layered", "series-parallel", "u-shaped", "fan-out"};
    name_ = fmt::format("seed {}: {} of {} nodes{}, season {}", seed, names[structure], nodes,
                        back ? " and back" : "", season_);
    switch (structure) {
      case 0:
        for (int k = 0; k < forward; ++k) add(k == 0 ? Inputs{} : Inputs{k - 1});
        break;
      case 1:
        layered(forward);
        break;
      case 2:
        series_parallel(add({}), forward);
        break;
      case 3:
        u_shaped(forward);
        break;
      default:
        fan_out(forward);
        break;
    }
    if (back) way_back();
    const int last = static_cast<int>(values_.size()) - 1;
    sketch_->output(values_.back());
    for (int k = draw(3); k > 0; --k) sketch_->output(values_[at(draw(last + 1))]);
  }
  const Graph& graph() const { return sketch_->graph; }
  const std::string& name() const { return name_; }

 private:
  using Inputs = std::vector<int>;
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  int draw(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  int size() const { return static_cast<int>(values_.size()); }

  // A value of some rows of 64 << k bytes.
  int add(const Inputs& inputs) {
    std::vector<Var> in;
    for (int i : inputs) in.push_back(values_[at(i)]);
    if (in.empty() || draw(4) == 0) in.push_back(inputs_[at(draw(static_cast<int>(inputs_.size())))]);
    values_.push_back(made_from(in));
    read_by_.emplace_back();
    for (int i : inputs) read_by_[at(i)].push_back(size() - 1);
    return size() - 1;
  }

  Var made_from(std::vector<Var> in) {
    Sketch& s = *sketch_;
    const std::int64_t rows = 1 + draw(16), columns = 64 << draw(7);
    const WorkAttrs plain{.rows = {rows}, .columns = {columns}};
    switch (season_ == 0 ? 9 : draw(10)) {
      case 0:
      case 1:
        return s.over(in);
      case 2:  // several results; others read the second by way of the first one's reader
        return s.over(s.many(in, {.rows = {rows, 1 + draw(4)}, .columns = {columns, 64}, .in_place = true}));
      case 3:
        in[0] = s.rows(in[0], 0, in[0].shape()[0] / 2);
        return s.reads({s.transposed(in[0]), in.back()}, rows, columns);
      case 4: {
        const auto parts = s.build.call(halves, std::vector{in[0]});
        return s.reads({parts[1], in.back()}, rows, columns);
      }
      case 5:
        return s.node(in, rows, columns, 64 * draw(64));
      case 6:
        if (season_ == 2 || season_ == 5) return alone_or_in_a_body(in, plain, once);
        return s.node(in, rows, columns);
      case 7:
        return s.many(in, plain, seeded).front();
      case 8:
        if (season_ == 3 || season_ == 5) alone_or_in_a_body(in, {.rows = {1}, .columns = {1}}, effect);
        return s.over(in);
      default:
        return s.node(in, rows, columns);
    }
  }

  // What may run only once, every other time inside a region.
  Var alone_or_in_a_body(const std::vector<Var>& in, const WorkAttrs& attrs, const Op& op) {
    if (size() % 2 == 0) return sketch_->many(in, attrs, op).front();
    Sketch body;
    std::vector<Var> inside;
    for (const Var& v : in) inside.push_back(body.input(v.shape()[0], v.shape()[1]));
    body.output(body.many(inside, attrs, op).front());
    return sketch_->inside(in, std::move(body.graph));
  }

  void layered(int nodes) {
    Inputs before{add({})};
    while (size() < nodes) {
      Inputs layer;
      for (int k = 1 + draw(4); k > 0; --k) {
        Inputs inputs{before[at(draw(static_cast<int>(before.size())))]};
        const int other = draw(3) == 0 ? draw(size()) : before[at(draw(static_cast<int>(before.size())))];
        if (other != inputs[0]) inputs.push_back(other);
        layer.push_back(add(inputs));
      }
      before = layer;
    }
  }
  // From the value `from` to the one returned.
  int series_parallel(int from, int nodes) {
    if (nodes <= 2) return add({from});
    const int part = 1 + draw(nodes - 1);
    if (draw(2)) return series_parallel(series_parallel(from, part), nodes - part);
    const int a = series_parallel(from, part), b = series_parallel(from, nodes - part);
    return add({a, b});
  }
  void u_shaped(int nodes) {
    Inputs down{add({})};
    while (size() < nodes / 2) down.push_back(add({down.back()}));
    int last = add({down.back()});
    for (int k = static_cast<int>(down.size()) - 1; k >= 0; --k) last = add({down[at(k)], last});
  }
  void fan_out(int nodes) {
    const int hub = add({});
    Inputs ends;
    while (size() < nodes - 1) {
      int last = add({hub});
      for (int k = draw(3); k > 0; --k) last = add({last});
      ends.push_back(last);
    }
    if (ends.empty()) ends.push_back(hub);
    while (ends.size() > 1) {
      const int a = ends.back();
      ends.pop_back();
      ends.back() = add({a, ends.back()});
    }
  }
  // The gradient of each value: from the value itself and the gradients of who read it.
  void way_back() {
    const int forward = size();
    std::vector<int> gradient(at(forward));
    for (int v = forward - 1; v >= 0; --v) {
      Inputs inputs;
      for (int reader : read_by_[at(v)]) {
        if (reader < forward) inputs.push_back(gradient[at(reader)]);
      }
      inputs.push_back(v);
      gradient[at(v)] = add(inputs);
    }
  }

  std::mt19937 random_;
  unsigned season_ = 0;
  std::unique_ptr<Sketch> sketch_;
  std::vector<Var> inputs_, values_;
  std::vector<Inputs> read_by_;
  std::string name_;
};

}  // namespace tidemark::fake
