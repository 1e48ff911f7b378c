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
  explicit Rewriter(const CodeSegment& segment) : segment_(segment) {
    made_.inputs = segment.inputs;
    for (int v = 0; v < static_cast<int>(segment.inputs.size()); ++v) now_.push_back({v, false});
  }

  CodeSegment rewrite() {
    for (const CodeSegment::Step& step : segment_.steps) now_.push_back(rewrite(step));
    return std::move(made_);
  }

 private:
  int put(CodeSegment::Step step) {
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

  Signed rewrite(const CodeSegment::Step& step) {
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
    CodeSegment::Step same = step;
    for (int& v : same.in) v = plain(now_[static_cast<std::size_t>(v)]);
    return {put(same), false};
  }

  const CodeSegment& segment_;
  CodeSegment made_;
  std::vector<Signed> now_;  // by value of the old run
  std::map<int, int> negated_;
};

}  // namespace

CodeSegment without_signs(const CodeSegment& segment) { return Rewriter(segment).rewrite(); }

}  // namespace tidemark
