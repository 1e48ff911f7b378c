// What the methods integrate: a vector field over lists of tensors, and the arithmetic of such lists.
#pragma once
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "tidemark/trace/functions.h"

namespace tidemark::ode {

using List = std::vector<Tensor>;
using Field = std::function<List(const Tensor& t, const List& y)>;
// The same with what it is differentiated by beside y.
using ParameterField = std::function<List(const Tensor& t, const List& y, const List& parameters)>;
// `f` must outlive it.
Field with_parameters(const ParameterField& f, const List& parameters);

struct Term {
  double weight;
  const List& slope;
};

struct Interval {
  double begin, end;
  double length() const { return end - begin; }
};

// y + h (Σ weight · slope)
List advanced(const List& y, const Operand& h, std::span<const Term> terms);
inline List advanced(const List& y, const Operand& h, std::initializer_list<Term> terms) {
  return advanced(y, h, std::span(terms.begin(), terms.size()));
}
List plus(const List& a, const List& b);
List scaled(const List& a, double factor);
List zeros_like(const List& a);
List stopped(const List& a);  // no gradient passes
List joined(std::initializer_list<const List*> parts);
List part(const List& all, std::size_t begin, std::size_t count);
Tensor largest(const List& a);  // of the absolute values

}  // namespace tidemark::ode
