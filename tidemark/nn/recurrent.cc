#include "tidemark/nn/recurrent.h"

#include <fmt/format.h>

#include <cmath>

#include "tidemark/base/call_site.h"
#include "tidemark/nn/lengths.h"
#include "tidemark/trace/control_flow.h"

namespace tidemark::nn {
namespace {

void check_sequence(std::string_view layer, const Operand& x, const Tensor& input, const Tensor& lengths) {
  const Tensor& t = x.tensor();
  if (t.rank() != 3 || t.size(2) != input.size(0)) {
    fail(ErrorCode::shape_mismatch, {.what = fmt::format("{} over {}", layer, to_string(t.type())),
                                     .expected = fmt::format("(T, B, {})", input.size(0)),
                                     .where = x.where()});
  }
  if (!lengths.empty() && lengths.shape() != Shape{t.size(1)}) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("{} over {} with lengths {}", layer, to_string(t.type()),
                              to_string(lengths.type())),
          .expected = fmt::format("one length for each of the {} sequences", t.size(1)),
          .where = x.where()});
  }
}

void check_state(std::string_view layer, const Operand& x, const std::vector<Tensor>& state,
                 const Tensor& hidden) {
  const std::int64_t batch = x.tensor().size(1), width = hidden.size(0);
  for (const Tensor& part : state) {
    if (!part.empty() && part.shape() == Shape{batch, width}) continue;
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("{} over {} from a state {}", layer, to_string(x.tensor().type()),
                              part.empty() ? "without tensors" : to_string(part.type())),
          .expected = fmt::format("a state of ({}, {})", batch, width),
          .where = x.where(),
          .help = fmt::format("begin with start({})", batch)});
  }
}

// `advance(state, what a step's input adds to the gates)` gives the next state, whose `hidden` is the output.
template <class State, class Advance>
std::pair<Tensor, State> over_time(const Operand& projected, const State& start, const Advance& advance,
                                   const SequenceOptions& options) {
  const Tensor& from_input = projected.tensor();
  const std::int64_t steps = from_input.size(0), batch = from_input.size(1);
  const Tensor lengths =
      options.lengths.empty()
          ? Tensor()
          : checked_lengths("a recurrent layer: the length", {options.lengths, projected.where()}, steps);
  const auto turned = [&](const Tensor& x) { return options.reverse ? flip(x, {0}) : x; };
  const auto step = [&](const State& before, const std::pair<Tensor, Tensor>& now) {
    State after = advance(before, now.second);
    if (lengths.empty()) return std::pair(after, after.hidden);
    const Tensor inside = now.first < lengths;
    const Tensor running = broadcast(reshape(inside, {batch, 1}), after.hidden.shape());
    const Tensor output = select(running, after.hidden, zeros_like(after.hidden));
    const auto kept = [&](const Tensor& x, const Tensor& old) { return select(running, x, old); };
    after = map_tree(kept, after, before);
    return std::pair(after, output);
  };
  const Tensor numbers = turned(arange(steps));
  const auto [end, outputs] = scan(step, start, std::pair(numbers, turned(from_input)));
  return {turned(outputs), end};
}

}  // namespace

LstmLayer LstmLayer::init(const Tensor& key, std::int64_t in, std::int64_t width, SourceLine where) {
  const CallSite site(where);
  const std::vector<Tensor> keys = split_key({key, where}, 2);
  const double deviation = 1 / std::sqrt(static_cast<double>(in + width));
  // A forget gate that starts open lets gradients pass (Jozefowicz et al. 2015).
  return {random_normal({keys[0], where}, {in, 4 * width}, 0, deviation),
          random_normal({keys[1], where}, {width, 4 * width}, 0, deviation),
          concat({zeros({width}), ones({width}), zeros({2 * width})}, 0)};
}
Tensor LstmLayer::operator()(const Operand& given) const {
  const CallSite site(given.where());
  check_sequence("an LSTM", given, input, {});
  const Tensor& x = given.tensor();
  const std::int64_t steps = x.size(0), batch = x.size(1), width = hidden.size(0);
  // What the inputs add to the gates, for all steps at once; only the recurrent product is sequential.
  const std::vector<Tensor> from_input = split_evenly(matmul(x, input) + bias, 0, static_cast<int>(steps));
  Tensor h = zeros({batch, width}, x.dtype()), cell = h;
  std::vector<Tensor> outputs;
  for (const Tensor& step : from_input) {
    const Tensor given = reshape(step, {batch, 4 * width});
    const std::vector<Tensor> gate = split_evenly(given + matmul(h, hidden), -1, 4);
    const Tensor kept = sigmoid(gate[1]) * cell, entrance = sigmoid(gate[0]);
    cell = kept + entrance * tanh(gate[2]);
    const Tensor exit = sigmoid(gate[3]);
    h = exit * tanh(cell);
    outputs.push_back(h);
  }
  return stack(outputs);
}
LstmState LstmLayer::start(std::int64_t batch, SourceLine where) const {
  const CallSite site(where);
  const Tensor zero = zeros({batch, hidden.size(0)}, hidden.dtype());
  return {zero, zero};
}
std::pair<Tensor, LstmState> LstmLayer::scanned(const Operand& x, const LstmState& start,
                                                const SequenceOptions& options) const {
  const CallSite site(x.where());
  check_sequence("an LSTM", x, input, options.lengths);
  check_state("an LSTM", x, {start.hidden, start.cell}, hidden);
  const auto advance = [&](const LstmState& before, const Tensor& given) {
    const std::vector<Tensor> gate = split_evenly(given + matmul(before.hidden, hidden), -1, 4);
    const Tensor kept = sigmoid(gate[1]) * before.cell, entrance = sigmoid(gate[0]);
    const Tensor cell = kept + entrance * tanh(gate[2]), exit = sigmoid(gate[3]);
    return LstmState{exit * tanh(cell), cell};
  };
  return over_time({matmul(x, input) + bias, x.where()}, start, advance, options);
}

GruLayer GruLayer::init(const Tensor& key, std::int64_t in, std::int64_t width, SourceLine where) {
  const CallSite site(where);
  const std::vector<Tensor> keys = split_key({key, where}, 2);
  const double deviation = 1 / std::sqrt(static_cast<double>(in + width));
  return {random_normal({keys[0], where}, {in, 3 * width}, 0, deviation),
          random_normal({keys[1], where}, {width, 3 * width}, 0, deviation), zeros({3 * width}),
          zeros({3 * width})};
}
GruState GruLayer::start(std::int64_t batch, SourceLine where) const {
  const CallSite site(where);
  return {zeros({batch, hidden.size(0)}, hidden.dtype())};
}
std::pair<Tensor, GruState> GruLayer::scanned(const Operand& x, const GruState& start,
                                              const SequenceOptions& options) const {
  const CallSite site(x.where());
  check_sequence("a GRU", x, input, options.lengths);
  check_state("a GRU", x, {start.hidden}, hidden);
  const auto advance = [&](const GruState& before, const Tensor& given) {
    const std::vector<Tensor> in = split_evenly(given, -1, 3),
                              old = split_evenly(matmul(before.hidden, hidden) + hidden_bias, -1, 3);
    const Tensor reset = sigmoid(in[0] + old[0]), update = sigmoid(in[1] + old[1]);
    const Tensor fresh = tanh(in[2] + reset * old[2]);
    return GruState{fresh + update * (before.hidden - fresh)};
  };
  return over_time({matmul(x, input) + bias, x.where()}, start, advance, options);
}

}  // namespace tidemark::nn
