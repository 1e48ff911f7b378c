// Hand tracking: how far the vertices of a posed hand are from measured points: the objective HT of ADBench
// (arXiv:1807.10129, section 4.3). Bones form a tree, each turns against its parent; a vertex follows bones
// by weights.
#pragma once
#include <array>
#include <cmath>
#include <span>
#include <vector>

namespace tidemark::bench {

// Row-major, M by N.
template <class T, std::size_t M, std::size_t N>
using Matrix = std::array<std::array<T, N>, M>;

template <class T, class B, std::size_t M, std::size_t N, std::size_t K>
Matrix<T, M, K> product(const Matrix<T, M, N>& a, const Matrix<B, N, K>& b) {
  Matrix<T, M, K> result;
  for (std::size_t i = 0; i < M; ++i) {
    for (std::size_t k = 0; k < K; ++k) {
      T sum = a[i][0] * b[0][k];
      for (std::size_t j = 1; j < N; ++j) sum += a[i][j] * b[j][k];
      result[i][k] = sum;
    }
  }
  return result;
}

struct Hand {
  std::vector<int> parents;                             // of each bone, which comes before it; -1: none
  std::vector<Matrix<double, 4, 4>> relatives;          // each bone against its parent, at rest
  std::vector<Matrix<double, 4, 4>> inverse_absolutes;  // from the hand to each bone, at rest
  std::vector<std::array<double, 4>> vertices;          // homogeneous, at rest
  std::vector<std::vector<double>> weights;             // of each vertex: by bone
  std::vector<std::array<int, 3>> triangles;
  bool mirrored = false;
  std::vector<int>
      correspondences;  // of each measured point: a vertex, or a triangle where `places` are given
  std::vector<std::array<double, 3>> points;

  // theta: global rotation (3), translation (3), then of each finger four angles. places: of each point two
  // coordinates in its triangle, or nothing. Gives three numbers for each point.
  template <class T>
  std::vector<T> operator()(std::span<const T> theta, std::span<const T> places) const {
    const std::vector<std::array<T, 3>> posed = pose(theta);
    std::vector<T> errors(3 * points.size());
    for (std::size_t p = 0; p < points.size(); ++p) {
      const std::size_t at = static_cast<std::size_t>(correspondences[p]);
      for (std::size_t i = 0; i < 3; ++i) {
        if (places.empty()) {
          errors[3 * p + i] = points[p][i] - posed[at][i];
          continue;
        }
        const T &u = places[2 * p], &v = places[2 * p + 1];
        const auto corner = [&](int c) -> const T& {
          return posed[static_cast<std::size_t>(triangles[at][c])][i];
        };
        errors[3 * p + i] = points[p][i] - (u * corner(0) + v * corner(1) + (1.0 - u - v) * corner(2));
      }
    }
    return errors;
  }

 private:
  // Where all vertices are.
  template <class T>
  std::vector<std::array<T, 3>> pose(std::span<const T> theta) const {
    const std::vector<Matrix<T, 4, 4>> absolutes = place_bones(theta);
    std::vector<Matrix<T, 4, 4>> moves(absolutes.size());
    for (std::size_t b = 0; b < moves.size(); ++b) moves[b] = product(absolutes[b], inverse_absolutes[b]);
    const Matrix<T, 3, 3> rotation = global_rotation(theta);
    std::vector<std::array<T, 3>> posed(vertices.size());
    for (std::size_t v = 0; v < vertices.size(); ++v) {
      const std::array<double, 4>& rest = vertices[v];
      std::array<T, 3> place = {T(0.0), T(0.0), T(0.0)};
      for (std::size_t b = 0; b < moves.size(); ++b) {
        const double weight = weights[v][b];
        if (weight == 0) continue;
        for (std::size_t i = 0; i < 3; ++i) {
          const std::array<T, 4>& row = moves[b][i];
          place[i] += weight * (row[0] * rest[0] + row[1] * rest[1] + row[2] * rest[2] + row[3] * rest[3]);
        }
      }
      if (mirrored) place[0] = -place[0];
      for (std::size_t i = 0; i < 3; ++i) {
        posed[v][i] =
            rotation[i][0] * place[0] + rotation[i][1] * place[1] + rotation[i][2] * place[2] + theta[3 + i];
      }
    }
    return posed;
  }

  // The wrist, five fingers of four bones, the forearm. Of a finger the last three bones turn, the first of
  // these around two axes, the others around one.
  template <class T>
  std::vector<Matrix<T, 4, 4>> place_bones(std::span<const T> theta) const {
    std::vector<Matrix<T, 4, 4>> absolutes(parents.size());
    for (std::size_t b = 0; b < parents.size(); ++b) {
      Matrix<T, 4, 4> relative;
      if (b >= 1 && b <= 20 && b % 4 != 1) {
        const std::size_t first = 6 + (b - 1) / 4 * 4, joint = (b - 1) % 4;
        const T& turn = theta[joint == 1 ? first : first + joint];
        relative = turned(relatives[b], turn, joint == 1 ? theta[first + 1] : T(0.0));
      } else {
        for (std::size_t i = 0; i < 4; ++i) {
          for (std::size_t j = 0; j < 4; ++j) relative[i][j] = relatives[b][i][j];
        }
      }
      absolutes[b] =
          parents[b] < 0 ? relative : product(absolutes[static_cast<std::size_t>(parents[b])], relative);
    }
    return absolutes;
  }

  // By the angle z around the third axis after the angle x around the first.
  template <class T>
  static Matrix<T, 4, 4> turned(const Matrix<double, 4, 4>& base, const T& x, const T& z) {
    using std::cos, std::sin;
    const T cx = cos(x), sx = sin(x), cz = cos(z), sz = sin(z);
    Matrix<T, 4, 4> result;
    for (std::size_t i = 0; i < 4; ++i) {
      const std::array<double, 4>& row = base[i];
      result[i][0] = row[0] * cz + row[1] * sz;
      const T second = row[1] * cz - row[0] * sz;
      result[i][1] = second * cx + row[2] * sx;
      result[i][2] = row[2] * cx - second * sx;
      result[i][3] = row[3];
    }
    return result;
  }

  template <class T>
  static Matrix<T, 3, 3> global_rotation(std::span<const T> axis) {
    using std::cos, std::sin, std::sqrt;
    Matrix<T, 3, 3> r;
    const T angle = sqrt(T(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]));
    if (angle < 1e-4) {
      for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < 3; ++j) r[i][j] = i == j ? 1.0 : 0.0;
      }
      return r;
    }
    const T sine = sin(angle), cosine = cos(angle), rest = 1.0 - cosine;
    const std::array<T, 3> u = {axis[0] / angle, axis[1] / angle, axis[2] / angle};
    for (std::size_t i = 0; i < 3; ++i) {
      const std::size_t j = (i + 1) % 3, k = (i + 2) % 3;
      r[i][i] = u[i] * u[i] * rest + cosine;
      r[i][j] = u[i] * u[j] * rest - u[k] * sine;
      r[j][i] = u[i] * u[j] * rest + u[k] * sine;
    }
    return r;
  }
};

}  // namespace tidemark::bench
