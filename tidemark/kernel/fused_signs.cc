#include "tidemark/kernel/fused_signs.h"

#include <map>

namespace tidemark {
namespace {

// A value of the new run, perhaps to be negated.
struct Signed {
  int value;
  bool negative;
};

class Rewriter {
 public:
  explicit Rewriter(const CodeRun& run) : run_(run) {
    made_.inputs = run.inputs;
    for (int v = 0; v < static_cast<int>(run.inputs.size()); ++v) now_.push_back({v, false});
  }

  CodeRun rewrite() {
    for (const CodeRun::Step& step : run_.steps) now_.push_back(rewrite(step));
    return std::move(made_);
  }

 private:
  int put(CodeRun::Step step) {
    made_.steps.push_back(step);
    return static_cast<int>(made_.inputs.size() + made_.steps.size()) - 1;
  }
  // The value as it stands, negated once for all its readers.
  int plain(Signed x) {
    if (!x.negative) return x.value;
    const auto [known, fresh] = negated_.try_emplace(x.value, 0);
    if (fresh) known->second = put({.op = TileOp::neg, .in = {x.value}});
    return known->second;
  }

  Signed rewrite(const CodeRun::Step& step) {
    using enum TileOp;
    const Signed x = now_[static_cast<std::size_t>(step.in[0])],
                 y = now_[static_cast<std::size_t>(step.in[1])];
    switch (step.op) {
      case neg:
        if (step.stored) break;
        return {x.value, !x.negative};
      case abs:
      case square:
        return {put({step.op, {x.value}, step.stored}), false};
      case mul:
      case div: {
        const bool negative = x.negative != y.negative;
        if (negative && step.stored) break;
        return {put({step.op, {x.value, y.value}, step.stored}), negative};
      }
      case add:  // -x - y has another zero than -(x + y)
        if (!x.negative && !y.negative) break;
        if (x.negative && y.negative) return {put({sub, {plain(x), y.value}, step.stored}), false};
        if (x.negative) return {put({sub, {y.value, x.value}, step.stored}), false};
        return {put({sub, {x.value, y.value}, step.stored}), false};
      case sub:
        if (!y.negative) break;
        if (x.negative) return {put({sub, {y.value, x.value}, step.stored}), false};
        return {put({add, {x.value, y.value}, step.stored}), false};
      default:
        break;
    }
    CodeRun::Step same = step;
    for (int& v : same.in) v = plain(now_[static_cast<std::size_t>(v)]);
    return {put(same), false};
  }

  const CodeRun& run_;
  CodeRun made_;
  std::vector<Signed> now_;  // by value of the old run
  std::map<int, int> negated_;
};

}  // namespace

CodeRun without_signs(const CodeRun& run) { return Rewriter(run).rewrite(); }

}  // namespace tidemark
