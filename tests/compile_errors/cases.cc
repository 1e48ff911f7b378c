// Mistakes that the compiler finds, one per CASE; run.py holds the first error of each to the text behind
// `expect`. The first hundred are of tensors.
#ifndef CASE
#define CASE 0
#endif
#if CASE < 100
#include "tidemark/tidemark.h"

namespace td = tidemark;

td::Tensor loss(td::Tensor w, td::Tensor x) { return td::sum(td::square(td::matmul(x, w))); }
double number(td::Tensor w) { return td::sum(w).item(); }
void nothing(td::Tensor) {}
struct Unlisted {
  td::Tensor w;
};
td::Tensor of_unlisted(Unlisted p) { return td::sum(p.w); }

int main() {
  const td::Tensor w = td::ones({2, 2});
#if CASE == 1  // expect: this function does not take these arguments
  td::compile(loss)(w);
#elif CASE == 2  // expect: this function does not take these arguments
  td::value_and_grad(loss)(w, w, w);
#elif CASE == 3  // expect: this function returns no tree of tensors
  td::compile(nothing)(w);
#elif CASE == 4  // expect: this loss returns a number, which has no derivative
  td::compile(td::value_and_grad(number))(w);
#elif CASE == 5  // expect: an argument is no tree of tensors
  td::grad(of_unlisted)(Unlisted{w});
#elif CASE == 6  // expect: this loss returns a number, which has no derivative
  const td::optim::AdamW adamw;
  td::compile(td::optim::step(adamw, number))(adamw.init(w));
#elif CASE == 7  // expect: this function does not take these arguments
  const td::optim::AdamW adamw;
  td::compile(td::optim::step(adamw, loss))(adamw.init(w));
#elif CASE == 8  // expect: this call has fewer arguments
  td::grad<2>(loss)(w, w);
#elif CASE == 9  // expect: this function does not take these arguments
  int calls = 0;
  td::compile([calls](td::Tensor x) mutable { return x * ++calls; })(w);
#endif
}

#else

#include "tidemark/scalar/scalar.h"

namespace td = tidemark;

// What only warns is an error here.
#pragma GCC diagnostic error "-Wdeprecated-declarations"

int main() {
  td::Tape tape;
  const td::Real x = tape.input(1);
#if CASE == 101    // expect: cannot convert | no viable conversion from
  const double lost = x;
#elif CASE == 102  // expect: takes the value out of a tidemark::Real, and its derivative is lost
  const double lost = static_cast<double>(x);
#elif CASE == 103  // expect: takes the value out of a tidemark::Real, and its derivative is lost
  const int lost = (int)x;
#elif CASE == 104  // expect: takes the value out of an expression of tidemark::Real
  const int lost = static_cast<int>(x * 2);
#elif CASE == 105  // expect: takes the value out of a tidemark::Dual, and its derivative is lost
  const double lost = static_cast<double>(td::Dual<1>(1));
#elif CASE == 106  // expect: cannot convert | no viable conversion from
  const int lost = x * 2;
#elif CASE == 107  // expect: no match for | invalid operands to binary expression
  const td::Real mixed = x * td::Dual<1>(1);
#elif CASE == 108  // expect: no matching function for call to
  const td::Real mixed = std::max(x, td::Dual<1>(1));
#elif CASE == 109  // expect: the derivative by the order of a Bessel function has no formula
  const td::Real wave = std::cyl_bessel_j(x, 2.0);
#endif
}
#endif
