#include "tidemark/ode/kept_states.h"

#include "tidemark/autodiff/custom_vjp.h"
#include "tidemark/ode/adjoint_field.h"
#include "tidemark/ode/drift.h"
#include "tidemark/ode/methods.h"
#include "tidemark/trace/control_flow.h"

namespace tidemark::ode {
namespace {

// Pieces of one length, numbered [begin, end) from t0 on. A loop of the graph needs them alike, so that
// fixed steps which cannot be shared out evenly have two groups: those with one step more come first.
struct Group {
  std::int64_t begin = 0, end = 0;
  std::int64_t steps = 0;   // of each piece; 0: dopri5 chooses
  std::int64_t offset = 0;  // piece j begins with step j · steps + offset

  std::int64_t count() const { return end - begin; }
};

class Pieces {
 public:
  Pieces(Interval time, const OdeOptions& options, SourceLine where)
      : time_(time), options_(options), where_(where), count_(options.kept_states + 1) {
    if (options.method == OdeMethod::dopri5) {
      group_[1] = {.begin = 0, .end = count_};
      return;
    }
    const std::int64_t steps = options.steps / count_, longer = options.steps % count_;
    group_[0] = {.begin = 0, .end = longer, .steps = steps + 1};
    group_[1] = {.begin = longer, .end = count_, .steps = steps, .offset = longer};
  }

  // The last piece of the second group is on its own: its end is the result, and not kept.
  Group with_kept_ends(std::size_t group) const {
    Group g = group_[group];
    if (group == 1) --g.end;
    return g;
  }
  Group last() const { return {count_ - 1, count_, group_[1].steps, group_[1].offset}; }

  // What runs from piece to piece: y, and the slope beside it where the method has one. Steps and their
  // times are those of one run over the whole interval.
  List begin(const ParameterField& f, const List& y, const List& p) const {
    if (options_.method != OdeMethod::leapfrog) return y;
    const List v = f(scalar(time_.begin, y.front().dtype()), y, p);
    return joined({&y, &v});
  }
  List forwards(const ParameterField& f, const List& carried, const List& p, const Group& group,
                const Tensor& piece) const {
    if (options_.method == OdeMethod::dopri5) return adaptive(f, carried, p, piece, time_.begin, 1);
    const Part steps{.first = piece * group.steps + group.offset, .count = group.steps};
    const Field plain = with_parameters(f, p);
    if (options_.method != OdeMethod::leapfrog)
      return explicit_steps(plain, carried, time_, options_, where_, &steps);
    const std::size_t n = carried.size() / 2;
    const auto [y, v] =
        leapfrog_part(plain, {part(carried, 0, n), part(carried, n, n)}, time_, options_, where_, steps);
    return joined({&y, &v});
  }

  // From the end of the piece to its beginning.
  List backwards(const ParameterField& f, const List& end, const List& p, const Group& group,
                 const Tensor& piece) const {
    if (options_.method == OdeMethod::dopri5) return adaptive(f, end, p, piece + 1, time_.begin, -1);
    const Interval back{time_.end, time_.begin};
    const Tensor after = (piece + 1) * group.steps + group.offset;  // the first step behind it
    const Part steps{.first = -after + options_.steps, .count = group.steps};
    const Field plain = with_parameters(f, p);
    if (options_.method != OdeMethod::leapfrog)
      return explicit_steps(plain, end, back, options_, where_, &steps);
    const DType dtype = end.front().dtype();
    const double h = back.length() / static_cast<double>(options_.steps);
    const List slope = plain(time_at(back.begin, h, steps.first, 0, dtype), end);
    return leapfrog_part(plain, {end, slope}, back, options_, where_, steps).first;
  }

 private:
  // One length of a piece from `piece` lengths behind `begin`, in the direction given.
  List adaptive(const ParameterField& f, const List& y, const List& p, const Tensor& piece, double begin,
                double direction) const {
    const double length = time_.length() / static_cast<double>(count_);
    const Tensor from = cast(piece, y.front().dtype()) * length + begin;
    const ParameterField shifted = [&](const Tensor& t, const List& x, const List& q) {
      return f(t + from, x, q);
    };
    return dopri5(shifted, y, p, {0, direction * length}, options_, where_);
  }

  Interval time_;
  const OdeOptions& options_;
  SourceLine where_;
  std::int64_t count_;
  Group group_[2];
};

// Goes back through the pieces: y as it was found, and the gradients so far.
struct Back {
  List y, by_y, by_p;
  TM_FIELDS(Back, y, by_y, by_p)
};

Tensor number(std::int64_t i) { return scalar(static_cast<double>(i), DType::i64); }

}  // namespace

List with_kept_states(const ParameterField& f, const List& y0, const List& parameters, Interval time,
                      const OdeOptions& options, SourceLine where) {
  const Pieces pieces(time, options, where);
  const std::size_t n = y0.size();
  // All pieces but the last run as they are. The gradient below does not pass through them: the adjoint says
  // what it is. Differentiated again, it does, by way of the kept states.
  List carried = pieces.begin(f, y0, parameters);
  List kept[2];  // by group: stacks of the states at the ends of its pieces
  for (std::size_t g = 0; g < 2; ++g) {
    const Group group = pieces.with_kept_ends(g);
    if (group.count() == 0) continue;
    const auto piece = [&](const List& before, const Tensor& i) {
      const List after = pieces.forwards(f, before, parameters, group, i + group.begin);
      return std::pair(after, part(after, 0, n));
    };
    std::tie(carried, kept[g]) = scan(piece, carried, arange(group.count(), DType::i64, where), {}, where);
  }
  const Group last = pieces.last();
  const auto forwards = [&](const List&, const List& p) {
    return part(pieces.forwards(f, carried, p, last, number(last.begin)), 0, n);
  };
  const auto backwards = [&](const List& y, const List& p, const List& end, const List& seed) {
    const ParameterField augmented = with_adjoints(f, n);
    const auto back_from = [&](const List& from, const Back& so_far, const Group& group,
                               const Tensor& piece) {
      const List start = joined({&from, &so_far.by_y, &so_far.by_p});
      const List all = pieces.backwards(augmented, start, p, group, piece);
      return Back{part(all, 0, n), part(all, n, n), part(all, 2 * n, p.size())};
    };
    Back back = back_from(end, {end, seed, zeros_like(p)}, last, number(last.begin));
    std::vector<Tensor> drifts;
    for (const std::size_t g : {1, 0}) {
      const Group group = pieces.with_kept_ends(g);
      if (group.count() == 0) continue;
      const auto piece = [&](const Back& after, const Tensor& i) {
        const Tensor place = -i + (group.count() - 1);
        List from;
        for (const Tensor& states : kept[g]) from.push_back(take(states, place, 0));
        const Tensor drift = drift_from(from, after.y);
        return std::pair(back_from(from, after, group, place + group.begin), drift);
      };
      Tensor missed;
      std::tie(back, missed) = scan(piece, back, arange(group.count(), DType::i64, where), {}, where);
      drifts.push_back(missed);
    }
    drifts.push_back(reshape(drift_from(y, back.y), {1}));
    const List all = guarded(joined({&back.by_y, &back.by_p}), concat(drifts, 0, where), options, where);
    return std::tuple(part(all, 0, n), part(all, n, p.size()));
  };
  return custom_vjp(forwards, backwards, where)(y0, parameters);
}

}  // namespace tidemark::ode
