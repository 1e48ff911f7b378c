#include "tidemark/ode/field.h"

#include "tidemark/base/check.h"

namespace tidemark::ode {
namespace {

template <class F>
List each(const List& a, const F& f) {
  List result;
  for (const Tensor& tensor : a) result.push_back(f(tensor));
  return result;
}

}  // namespace

Field with_parameters(const ParameterField& f, const List& parameters) {
  return [&f, parameters](const Tensor& t, const List& y) { return f(t, y, parameters); };
}

List advanced(const List& y, const Operand& h, std::span<const Term> terms) {
  List result;
  for (std::size_t i = 0; i < y.size(); ++i) {
    Tensor slope;
    for (const auto& [weight, slopes] : terms) {
      const Tensor term = weight == 1 ? slopes[i] : slopes[i] * weight;
      slope = slope.empty() ? term : slope + term;
    }
    result.push_back(y[i] + slope * h);
  }
  return result;
}

List plus(const List& a, const List& b) {
  TM_CHECK(a.size() == b.size(), "sum of {} and {} tensors", a.size(), b.size());
  List result;
  for (std::size_t i = 0; i < a.size(); ++i) result.push_back(a[i] + b[i]);
  return result;
}

List scaled(const List& a, double factor) {
  return each(a, [&](const Tensor& x) { return x * factor; });
}
List zeros_like(const List& a) {
  return each(a, [](const Tensor& x) { return zeros(x.shape(), x.dtype()); });
}
List stopped(const List& a) {
  return each(a, [](const Tensor& x) { return stop_gradient(x); });
}

List joined(std::initializer_list<const List*> parts) {
  List result;
  for (const List* list : parts) result.insert(result.end(), list->begin(), list->end());
  return result;
}

List part(const List& all, std::size_t begin, std::size_t count) {
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(begin);
  return {first, first + static_cast<std::ptrdiff_t>(count)};
}

Tensor largest(const List& a) {
  Tensor result = scalar(0, a.front().dtype());
  for (const Tensor& x : a) {
    if (x.count() > 0) result = maximum(result, max(abs(x)));
  }
  return result;
}

}  // namespace tidemark::ode
