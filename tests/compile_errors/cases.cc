// Mistakes that the compiler finds, one per CASE; run.py holds the first error of each to the text behind
// `expect`.
#include "tidemark/scalar/scalar.h"
#include "tidemark/tidemark.h"

// What only warns is told apart by run.py's first error as well.
#pragma GCC diagnostic error "-Wdeprecated-declarations"

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
#elif CASE == 10  // expect: cannot convert
  const double lost = td::Real(1);
#elif CASE == 11  // expect: takes the value out of a tidemark::Real, and its derivative is lost
  const double lost = static_cast<double>(td::Real(1));
#elif CASE == 12  // expect: takes the value out of a tidemark::Real, and its derivative is lost
  const int lost = (int)td::Real(1);
#elif CASE == 13  // expect: takes the value out of an expression of tidemark::Real, and its derivative is lost
  const int lost = static_cast<int>(td::Real(1) * 2);
#elif CASE == 14  // expect: takes the value out of a tidemark::Dual, and its derivative is lost
  const double lost = static_cast<double>(td::Dual<1>(1));
#elif CASE == 15  // expect: cannot convert
  const int lost = td::Real(1) * 2;
#endif
}
