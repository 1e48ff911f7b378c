// Steps that have steps inside: loops, branches and checkpoints.
#include "tests/programs/function_writer.h"

namespace tidemark::testing {

std::vector<Tensor> FunctionWriter::some_values(Draw& draw, int most) const {
  std::vector<Tensor> list;
  for (int i = draw.between(1, most); i > 0; --i) list.push_back(pick(draw));
  return list;
}

// Some steps on `values`; of what they make, results of the wanted types. Floats are kept small, however
// often it runs.
std::vector<Tensor> FunctionWriter::inner(std::vector<Tensor> values, const std::vector<Type>& wanted,
                                          Draw draw) const {
  FunctionWriter writer(profile_, std::move(values), depth_ + 1);
  for (int s = draw.between(1, 4); s > 0; --s) writer.step(draw.branch(static_cast<std::uint64_t>(s)));
  std::vector<Tensor> results;
  for (const Type& type : wanted) {
    const Tensor y = fitted(writer.pick(draw), type);
    results.push_back(is_float(type.dtype) && draw.chance(80) ? tanh(y) : y);
  }
  return results;
}

namespace {

std::vector<Type> types_of_all(const std::vector<Tensor>& tensors) {
  std::vector<Type> types;
  for (const Tensor& tensor : tensors) types.push_back(tensor.type());
  return types;
}
std::vector<Tensor> both(std::vector<Tensor> a, const std::vector<Tensor>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

void FunctionWriter::repeat_steps(Draw& draw) {
  const std::vector<Tensor> start = some_values(draw, 2), captured = some_values(draw, 2);
  const std::vector<Type> types = types_of_all(start);
  const Draw body = draw.branch(7);
  const auto plain = [&](const std::vector<Tensor>& u) { return inner(both(captured, u), types, body); };
  const auto numbered = [&](const std::vector<Tensor>& u, const Tensor& i) {
    return inner(both(both(captured, {i}), u), types, body);
  };
  const int trips = draw.between(0, 5);
  for (const Tensor& x : draw.chance(50) ? repeat(trips, plain, start) : repeat(trips, numbered, start))
    add(x);
}

void FunctionWriter::scan_steps(Draw& draw) {
  const Tensor xs = pick(draw);
  if (xs.rank() == 0 || xs.size(0) > 20) return;
  const std::vector<Tensor> start = some_values(draw, 2), captured = some_values(draw, 1);
  std::vector<Type> types = types_of_all(start);
  types.push_back(pick(draw).type());
  if (types.back().count() * xs.size(0) > profile_.most_elements) return;
  const Draw body = draw.branch(7);
  const auto f = [&](const std::vector<Tensor>& h, const Tensor& x) {
    std::vector<Tensor> results = inner(both(both(captured, {x}), h), types, body);
    const Tensor y = results.back();
    results.pop_back();
    return std::pair(results, y);
  };
  const auto [carried, ys] = scan(f, start, xs);
  for (const Tensor& x : carried) add(x);
  add(ys);
}

void FunctionWriter::loop_while(Draw& draw) {
  const std::vector<Tensor> start = both({scalar(0, DType::i64)}, some_values(draw, 2));
  std::vector<Type> types = types_of_all(start);
  types.erase(types.begin());
  const std::vector<Tensor> captured = some_values(draw, 1);
  const int trips = draw.between(0, 5);
  const Draw body = draw.branch(7);
  const auto goes_on = [&](const std::vector<Tensor>& u) { return u[0] < trips; };
  const auto f = [&](const std::vector<Tensor>& u) {
    return both({u[0] + 1}, inner(both(captured, u), types, body));
  };
  for (const Tensor& x : while_loop(goes_on, f, start, {.max_steps = 10})) add(x);
}

void FunctionWriter::choose(Draw& draw) {
  const Tensor predicate = sum(pick_float(draw)) > draw.between(-1, 1);
  const std::vector<Tensor> arguments = some_values(draw, 3), captured = some_values(draw, 1);
  const std::vector<Type> types = types_of_all(some_values(draw, 2));
  const Draw left = draw.branch(7), right = draw.branch(8);
  const auto f = [&](const std::vector<Tensor>& x) { return inner(both(captured, x), types, left); };
  const auto g = [&](const std::vector<Tensor>& x) { return inner(x, types, right); };
  for (const Tensor& x : cond(predicate, f, g, arguments)) add(x);
}

void FunctionWriter::checkpoint_steps(Draw& draw) {
  const std::vector<Tensor> arguments = some_values(draw, 3);
  const std::vector<Type> types = types_of_all(some_values(draw, 2));
  const Draw body = draw.branch(7);
  const auto f = [&](const std::vector<Tensor>& x) { return inner(x, types, body); };
  for (const Tensor& x : checkpoint(f)(arguments)) add(x);
}

}  // namespace tidemark::testing
