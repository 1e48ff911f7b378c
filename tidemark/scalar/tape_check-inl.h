// BasicTape: what a checked one looks for. Each statement comes by make_room, which looks at the one that
// was written last.
#pragma once
#include <cmath>

#include <fmt/format.h>

#include "tidemark/scalar/state_digest.h"
#include "tidemark/scalar/tape.h"

namespace tidemark::scalars {

// In place of statements that were forgotten: their indices are used by no others, so that a Real of theirs
// is known wherever it appears.
template <class T>
class GapEvent final : public Event<T> {
 public:
  void reverse(std::span<const T>, AdjointSink<T>&) override {}
  std::size_t bytes() const override { return sizeof *this; }
};

template <class T>
void BasicTape<T>::look(const SourceLine& where) {
  Checks& checks = *checks_;
  const Id next = index_of(this->next);
  if (checks.recording == target_ && next > checks.looked_at && this->codes) {
    Statement<T> last;
    read_code(this->codes, this->forms, last);
    // Behind an event there are its results, of which nothing is written.
    if (last.kind == Statement<T>::Kind::operation && next == checks.looked_at + 1) {
      last.index = next - 1;
      last.slopes = this->partials - last.words;
      if (last.form) last.cursor = index_of(this->cursor) - static_cast<Id>(std::int64_t{last.form->step});
      for (unsigned i = 0; i < last.operands(); ++i) {
        const double slope = plain_value(last.slope(i));
        if (std::isnan(slope))
          checks.find(Finding::Kind::nan_slope, last.index, "a partial derivative is NaN");
        else if (std::isinf(slope))
          checks.find(Finding::Kind::infinite_slope, last.index, "a partial derivative is infinite");
      }
      checks.looked_at = next;
      for (unsigned i = 0; i < last.operands(); ++i)
        refuse_forgotten(last.operand(i), checks.line(last.index));
    }
  }
  checks.recording = target_;
  checks.looked_at = next;
  // Steps that run again have indices of their own.
  if (target_ == &recording_) checks.expect(next, where);
}

template <class T>
void BasicTape<T>::refuse_forgotten(Id index, const SourceLine& where) const {
  if (target_ != &recording_ || !checks_->forgotten(index)) return;
  fail(ErrorCode::foreign_real,
       {.what = fmt::format("a Real is used that the tape has forgotten: it was made {}",
                            checks_->text_of_line(index)),
        .expected = "Reals from before the mark to which the tape was rewound, or results of preaccumulate",
        .where = where.known() ? where : made_,
        .help = "value(x) is the number alone"});
}

template <class T>
void BasicTape<T>::leave_gap(const Mark& mark, Id end) {
  checks_->forget(index_of(mark.next), index_of(end));
  checks_->looked_at = index_of(end);
  require_event(sizeof(GapEvent<T>), checks_->line(index_of(mark.next)));
  target_->add_event(std::make_unique<GapEvent<T>>(), end - mark.next - 1);
  write_mark(code::event, checks_->line(index_of(mark.next)));
  this->next = end;
  checks_->looked_at = index_of(end);
}

// Once more over the recording, one adjoint for each statement.
template <class T>
void BasicTape<T>::check_reversal(std::span<const Seed> seeds, const SourceLine& where) {
  using Kind = typename Statement<T>::Kind;
  Checks& checks = *checks_;
  for (const Seed& seed : seeds)
    if (seed.of.id() == 0)
      checks.find(Finding::Kind::passive_result, where, "a result depends on no input",
                  where.known() ? fmt::format("reversed at {}", short_form(where)) : "reversed somewhere");
  for (const auto& recorded : recording_.events)
    if (!dynamic_cast<const GapEvent<T>*>(recorded.event.get())) return;
  const Id count = index_of(this->next);
  if (!fits(count * (sizeof(T) + 1))) return;
  std::vector<T> adjoints(count, T(0));
  std::vector<bool> reached(count);
  for (const Seed& seed : seeds)
    if (seed.of.id() != 0) {
      adjoints[index_of(seed.of.id())] += seed.adjoint;
      reached[index_of(seed.of.id())] = true;
    }
  std::vector<Id> unused;
  walk_back(view(), [&](const Statement<T>& statement) {
    const Id k = statement.index;
    if (statement.kind == Kind::input && !reached[k]) unused.push_back(k);
    if (!reached[k]) return;
    for (unsigned i = 0; i < statement.operands(); ++i) {
      const Id operand = statement.operand(i);
      reached[operand] = true;
      if (is_zero(adjoints[k])) continue;
      const bool finite = std::isfinite(plain_value(adjoints[operand]));
      adjoints[operand] += statement.slope(i) * adjoints[k];
      if (finite && !std::isfinite(plain_value(adjoints[operand])) && std::isfinite(plain_value(adjoints[k])))
        checks.find(
            Finding::Kind::nan_adjoint, k,
            std::isnan(plain_value(adjoints[operand])) ? "an adjoint becomes NaN" : "an adjoint overflows");
    }
  });
  std::reverse(unused.begin(), unused.end());
  for (const Id k : unused)
    checks.find(Finding::Kind::unused_input, k, "no result that was reversed depends on an input");
}

}  // namespace tidemark::scalars
