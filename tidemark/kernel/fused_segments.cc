#include "tidemark/kernel/fused_segments.h"

#include <algorithm>
#include <map>

namespace tidemark {
namespace {

class Finder {
 public:
  Finder(std::span<const SegmentStep> steps, std::span<const SegmentValue> values)
      : steps_(steps), values_(values) {
    made_.assign(values.size(), -1);
    last_use_.assign(values.size(), -1);
    for (int s = 0; s < count(); ++s) {
      made_[at(step(s).out)] = s;
      for (int v : step(s).in) last_use_[at(v)] = s;
    }
  }

  std::vector<FoundSegment> find() {
    std::vector<FoundSegment> segments;
    for (int begin = 0; begin < count();) {
      int end = begin;
      while (end < count() && fits(end, begin)) ++end;
      end = without_loose_truths(begin, end);
      if (end - begin >= 2) {
        if (std::optional<FoundSegment> segment = code_for(begin, end))
          segments.push_back(std::move(*segment));
      }
      begin = std::max(end, begin + 1);
    }
    return segments;
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  int count() const { return static_cast<int>(steps_.size()); }
  const SegmentStep& step(int s) const { return steps_[at(s)]; }
  const SegmentValue& value(int v) const { return values_[at(v)]; }

  // Numbers are f32; truths never leave the segment that makes them: there they are masks, elsewhere bytes.
  bool fits(int s, int begin) const {
    if (step(s).op == TileOp::other) return false;
    for (int v : step(s).in) {
      if (value(v).dtype == DType::boolean ? made_[at(v)] < begin : value(v).dtype != DType::f32)
        return false;
    }
    const DType out = value(step(s).out).dtype;
    return out == DType::f32 || out == DType::boolean;
  }
  bool is_loose(int s, int end) const {
    const int v = step(s).out;
    return value(v).dtype == DType::boolean && (value(v).kept || last_use_[at(v)] >= end);
  }
  int without_loose_truths(int begin, int end) const {
    for (int s = begin; s < end; ++s) {
      if (is_loose(s, end)) end = s, s = begin - 1;
    }
    return end;
  }

  std::optional<FoundSegment> code_for(int begin, int end) const {
    CodeSegment segment;
    std::map<int, int> number;  // of a value in the segment
    FoundSegment found{.begin = at(begin), .end = at(end), .code = nullptr, .places = {}};
    for (int s = begin; s < end; ++s) {
      for (int v : step(s).in) {
        if (made_[at(v)] >= begin || number.contains(v)) continue;
        number[v] = static_cast<int>(segment.inputs.size());
        segment.inputs.push_back({.invariant = value(v).invariant});
        found.places.push_back(v);
      }
    }
    for (int s = begin; s < end; ++s) {
      const int v = step(s).out;
      number[v] = static_cast<int>(segment.inputs.size()) + s - begin;
      CodeSegment::Step made{.op = step(s).op, .in = {}, .stored = value(v).kept || last_use_[at(v)] >= end};
      for (std::size_t k = 0; k < step(s).in.size(); ++k) made.in[k] = number.at(step(s).in[k]);
      if (made.stored) found.places.push_back(v);
      segment.steps.push_back(made);
    }
    found.code = MachineCode::make(segment);
    if (!found.code) return std::nullopt;
    return found;
  }

  std::span<const SegmentStep> steps_;
  std::span<const SegmentValue> values_;
  std::vector<int> made_, last_use_;  // steps, per value; -1: none
};

}  // namespace

std::vector<FoundSegment> find_segments(std::span<const SegmentStep> steps,
                                        std::span<const SegmentValue> values) {
  return Finder(steps, values).find();
}

}  // namespace tidemark
