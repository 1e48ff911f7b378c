// Reals and Duals in matrices of Eigen: include this beside <Eigen/Dense>, and Eigen::Matrix<td::Real, …>
// has products, norms, factorisations and solvers like a matrix of double. Each scalar operation inside of
// them is recorded.
#pragma once
#include <Eigen/Core>

#include "tidemark/scalar/scalar.h"

namespace tidemark::scalars {

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
requires(is_real<typename Derived::Scalar> ||
         carries<typename Derived::Scalar>) auto value(const Eigen::DenseBase<Derived>& matrix) {
  using T = decltype(value(std::declval<typename Derived::Scalar>()));
  return matrix.derived().unaryExpr([](const typename Derived::Scalar& x) -> T { return value(x); }).eval();
}

}  // namespace tidemark::scalars

namespace Eigen {

template <class T>
struct NumTraits<tidemark::scalars::BasicReal<T>>
    : tidemark::scalars::EigenTraits<tidemark::scalars::BasicReal<T>> {};
template <tidemark::scalars::Carrier D>
struct NumTraits<D> : tidemark::scalars::EigenTraits<D> {};

// Matrices of Reals beside matrices of plain numbers.
template <class T, class C, class Operation>
requires tidemark::scalars::PassiveFor<C, T>
struct ScalarBinaryOpTraits<tidemark::scalars::BasicReal<T>, C, Operation> {
  using ReturnType = tidemark::scalars::BasicReal<T>;
};
template <class T, class C, class Operation>
requires tidemark::scalars::PassiveFor<C, T>
struct ScalarBinaryOpTraits<C, tidemark::scalars::BasicReal<T>, Operation> {
  using ReturnType = tidemark::scalars::BasicReal<T>;
};
template <tidemark::scalars::Carrier D, class C, class Operation>
requires std::is_arithmetic_v<C>
struct ScalarBinaryOpTraits<D, C, Operation> {
  using ReturnType = D;
};
template <tidemark::scalars::Carrier D, class C, class Operation>
requires std::is_arithmetic_v<C>
struct ScalarBinaryOpTraits<C, D, Operation> {
  using ReturnType = D;
};

namespace internal {

// matrix.cast<double>() says as clearly as value(x) that the number alone is meant.
template <class T, class C>
requires std::is_arithmetic_v<C>
struct cast_impl<tidemark::scalars::BasicReal<T>, C> {
  static C run(const tidemark::scalars::BasicReal<T>& x) {
    return static_cast<C>(tidemark::scalars::plain_number(x));
  }
};
template <tidemark::scalars::Carrier D, class C>
requires std::is_arithmetic_v<C>
struct cast_impl<D, C> {
  static C run(const D& x) { return static_cast<C>(x.value()); }
};

// Eigen's kernel keeps intermediate results in the type of one operand, so that a matrix of Reals times a
// matrix of plain numbers does not compile. (Results by rows are made by columns of the transposed product.)
template <class Index, class L, int left_order, class R, int right_order, int increment>
struct ProductWithPlainMatrix {
  using Traits = gebp_traits<L, R>;
  using Result = typename ScalarBinaryOpTraits<L, R>::ReturnType;
  static void run(Index rows, Index columns, Index depth, const L* left, Index left_stride, const R* right,
                  Index right_stride, Result* results, Index result_increment, Index result_stride,
                  const Result& alpha, level3_blocking<L, R>&, GemmParallelInfo<Index>* = nullptr) {
    const const_blas_data_mapper<L, Index, left_order> x(left, left_stride);
    const const_blas_data_mapper<R, Index, right_order> y(right, right_stride);
    const blas_data_mapper<Result, Index, ColMajor, Unaligned, increment> z(results, result_stride,
                                                                            result_increment);
    for (Index j = 0; j < columns; ++j)
      for (Index i = 0; i < rows; ++i) {
        Result sum(0);
        for (Index k = 0; k < depth; ++k) sum += x(i, k) * y(k, j);
        z(i, j) += alpha * sum;
      }
  }
};
template <class Index, class T, int left_order, bool left_conjugate, class C, int right_order,
          bool right_conjugate, int increment>
requires tidemark::scalars::PassiveFor<C, T>
struct general_matrix_matrix_product<Index, tidemark::scalars::BasicReal<T>, left_order, left_conjugate, C,
                                     right_order, right_conjugate, ColMajor, increment>
    : ProductWithPlainMatrix<Index, tidemark::scalars::BasicReal<T>, left_order, C, right_order, increment> {
};
template <class Index, class C, int left_order, bool left_conjugate, class T, int right_order,
          bool right_conjugate, int increment>
requires tidemark::scalars::PassiveFor<C, T>
struct general_matrix_matrix_product<Index, C, left_order, left_conjugate, tidemark::scalars::BasicReal<T>,
                                     right_order, right_conjugate, ColMajor, increment>
    : ProductWithPlainMatrix<Index, C, left_order, tidemark::scalars::BasicReal<T>, right_order, increment> {
};
template <class Index, tidemark::scalars::Carrier D, int left_order, bool left_conjugate, class C,
          int right_order, bool right_conjugate, int increment>
requires std::is_arithmetic_v<C>
struct general_matrix_matrix_product<Index, D, left_order, left_conjugate, C, right_order, right_conjugate,
                                     ColMajor, increment>
    : ProductWithPlainMatrix<Index, D, left_order, C, right_order, increment> {
};
template <class Index, class C, int left_order, bool left_conjugate, tidemark::scalars::Carrier D,
          int right_order, bool right_conjugate, int increment>
requires std::is_arithmetic_v<C>
struct general_matrix_matrix_product<Index, C, left_order, left_conjugate, D, right_order, right_conjugate,
                                     ColMajor, increment>
    : ProductWithPlainMatrix<Index, C, left_order, D, right_order, increment> {
};

}  // namespace internal
}  // namespace Eigen
