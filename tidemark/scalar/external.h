// Functions with adjoints of one's own: what another library computes, or what has a better derivative than
// that of its statements.
//
//   std::vector<td::Real> y = td::external(
//       x, [](std::span<const double> x) { return library_call(x); },
//       [](std::span<const double> x, std::span<const double> y, std::span<const double> y_bar,
//          std::span<double> x_bar) { library_adjoint(x, y, y_bar, x_bar); });
//
// The second function adds to x_bar, which begins as zero, or sets it. It is called while a recording is
// reversed: once per reversal, and once per lane where several adjoints are taken along.
#pragma once
#include <concepts>
#include <memory>
#include <source_location>
#include <span>
#include <vector>

#include "tidemark/scalar/tape.h"

namespace tidemark::scalars {

template <class T, class G>
class ExternalEvent final : public Event<T> {
 public:
  ExternalEvent(std::span<const BasicReal<T>> operands, std::vector<T> inputs, std::vector<T> outputs,
                G reverse)
      : inputs_(std::move(inputs)), outputs_(std::move(outputs)), reverse_(std::move(reverse)) {
    ids_.reserve(operands.size());
    for (const auto& operand : operands) ids_.push_back(operand.id());
  }

  void reverse(std::span<const T> results, AdjointSink<T>& operands) override {
    std::vector<T> adjoints(ids_.size(), T(0));
    reverse_(std::span<const T>(inputs_), std::span<const T>(outputs_), results, std::span<T>(adjoints));
    for (std::size_t i = 0; i < ids_.size(); ++i)
      if (ids_[i] != 0) operands.add(ids_[i], adjoints[i]);
  }
  std::size_t bytes() const override {
    return sizeof *this + ids_.capacity() * sizeof(Id) +
           (inputs_.capacity() + outputs_.capacity()) * sizeof(T);
  }

 private:
  std::vector<Id> ids_;
  std::vector<T> inputs_, outputs_;
  G reverse_;
};

// f: values of the inputs to values of the outputs. Without a tape, or with passive inputs alone, it is
// called and nothing else.
template <class T, class F, class G>
requires std::invocable<F&, std::span<const T>> &&
    std::invocable<G&, std::span<const T>, std::span<const T>, std::span<const T>, std::span<T>>
        std::vector<BasicReal<T>> external(std::span<const BasicReal<T>> inputs, F&& f, G reverse,
                                           SourceLine where = std::source_location::current()) {
  std::vector<T> values;
  values.reserve(inputs.size());
  bool active = false;
  for (const auto& input : inputs) {
    values.push_back(input.value());
    active |= input.id() != 0;
  }
  BasicTape<T>* const tape = BasicTape<T>::active();
  auto computed = f(std::span<const T>(values));
  std::vector<T> outputs(std::begin(computed), std::end(computed));
  if (!tape || !active || outputs.empty()) return unrecorded<T>(outputs, active);
  const std::vector<T> results = outputs;
  return tape->record_event(std::make_unique<ExternalEvent<T, G>>(inputs, std::move(values),
                                                                  std::move(outputs), std::move(reverse)),
                            inputs, results, where);
}
template <class T, class F, class G>
std::vector<BasicReal<T>> external(const std::vector<BasicReal<T>>& inputs, F&& f, G reverse,
                                   SourceLine where = std::source_location::current()) {
  return external(std::span<const BasicReal<T>>(inputs), std::forward<F>(f), std::move(reverse), where);
}

}  // namespace tidemark::scalars

namespace tidemark {
using scalars::external;
}  // namespace tidemark
