// Reals and Duals in matrices of Eigen: include this beside <Eigen/Dense>, and Eigen::Matrix<td::Real, …>
// has products, norms, factorisations and solvers like a matrix of double. Each scalar operation inside of
// them is recorded.
#pragma once
#include <Eigen/Core>

#include "tidemark/scalar/scalar.h"

namespace tidemark::scalar {

// What Eigen asks of a number type that stands for double.
template <class T>
struct EigenTraits : Eigen::NumTraits<double> {
  using Real = T;
  using NonInteger = T;
  using Nested = T;
  using Literal = T;
  enum {
    IsComplex = 0,
    IsInteger = 0,
    IsSigned = 1,
    RequireInitialization = 1,
    ReadCost = 1,
    AddCost = 4,
    MulCost = 4
  };
  static T epsilon() { return Eigen::NumTraits<double>::epsilon(); }
  static T dummy_precision() { return Eigen::NumTraits<double>::dummy_precision(); }
  static T highest() { return Eigen::NumTraits<double>::highest(); }
  static T lowest() { return Eigen::NumTraits<double>::lowest(); }
  static T infinity() { return Eigen::NumTraits<double>::infinity(); }
  static T quiet_NaN() { return Eigen::NumTraits<double>::quiet_NaN(); }
};

// The numbers of a matrix, without their derivatives.
template <class Derived>
requires(is_real<typename Derived::Scalar> || is_dual<typename Derived::Scalar>)
auto value(const Eigen::DenseBase<Derived>& matrix) {
  using T = decltype(value(std::declval<typename Derived::Scalar>()));
  return matrix.derived().unaryExpr([](const typename Derived::Scalar& x) -> T { return value(x); }).eval();
}

}  // namespace tidemark::scalar

namespace Eigen {

template <class T>
struct NumTraits<tidemark::scalar::BasicReal<T>>
    : tidemark::scalar::EigenTraits<tidemark::scalar::BasicReal<T>> {};
template <int N>
struct NumTraits<tidemark::scalar::Dual<N>> : tidemark::scalar::EigenTraits<tidemark::scalar::Dual<N>> {};

// Matrices of Reals beside matrices of plain numbers.
template <class T, class C, class Operation>
requires tidemark::scalar::PassiveFor<C, T>
struct ScalarBinaryOpTraits<tidemark::scalar::BasicReal<T>, C, Operation> {
  using ReturnType = tidemark::scalar::BasicReal<T>;
};
template <class T, class C, class Operation>
requires tidemark::scalar::PassiveFor<C, T>
struct ScalarBinaryOpTraits<C, tidemark::scalar::BasicReal<T>, Operation> {
  using ReturnType = tidemark::scalar::BasicReal<T>;
};
template <int N, class C, class Operation>
requires std::is_arithmetic_v<C>
struct ScalarBinaryOpTraits<tidemark::scalar::Dual<N>, C, Operation> {
  using ReturnType = tidemark::scalar::Dual<N>;
};
template <int N, class C, class Operation>
requires std::is_arithmetic_v<C>
struct ScalarBinaryOpTraits<C, tidemark::scalar::Dual<N>, Operation> {
  using ReturnType = tidemark::scalar::Dual<N>;
};

namespace internal {

// matrix.cast<double>() says as clearly as value(x) that the number alone is meant.
template <class T, class C>
requires std::is_arithmetic_v<C>
struct cast_impl<tidemark::scalar::BasicReal<T>, C> {
  static C run(const tidemark::scalar::BasicReal<T>& x) {
    return static_cast<C>(tidemark::scalar::plain_number(x));
  }
};
template <int N, class C>
requires std::is_arithmetic_v<C>
struct cast_impl<tidemark::scalar::Dual<N>, C> {
  static C run(const tidemark::scalar::Dual<N>& x) { return static_cast<C>(x.value()); }
};

}  // namespace internal
}  // namespace Eigen
