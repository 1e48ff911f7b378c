// Bundle adjustment: what one observation of a point by a camera is off by, and the error of its weight: the
// objective BA of ADBench (arXiv:1807.10129, section 4.2).
#pragma once
#include <array>
#include <cmath>

namespace tidemark::bench {

constexpr std::size_t camera_size =
    11;  // rotation (3), centre (3), focal length, principal point (2), distortion (2)

template <class T>
using Three = std::array<T, 3>;

template <class T>
Three<T> cross(const T* a, const T* b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

// By the angle |axis| around the axis (Rodrigues); near no rotation the linear part of it.
template <class T>
Three<T> rotate(const T* axis, const Three<T>& point) {
  using std::cos, std::sin, std::sqrt;
  const T square = axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2];
  Three<T> rotated;
  if (square > 0.0) {
    const T angle = sqrt(square);
    const T cosine = cos(angle), sine = sin(angle), inverse = 1.0 / angle;
    const Three<T> unit = {axis[0] * inverse, axis[1] * inverse, axis[2] * inverse};
    const Three<T> across = cross(unit.data(), point.data());
    const T along = (unit[0] * point[0] + unit[1] * point[1] + unit[2] * point[2]) * (1.0 - cosine);
    for (int i = 0; i < 3; ++i) rotated[i] = point[i] * cosine + across[i] * sine + unit[i] * along;
  } else {
    const Three<T> across = cross(axis, point.data());
    for (int i = 0; i < 3; ++i) rotated[i] = point[i] + across[i];
  }
  return rotated;
}

// Where the camera sees the point against where it was seen, times the weight.
template <class T>
std::array<T, 2> reprojection_error(const T* camera, const T* point, const T& weight, const double* seen) {
  const Three<T> offset = {point[0] - camera[3], point[1] - camera[4], point[2] - camera[5]};
  const Three<T> turned = rotate(camera, offset);
  const T x = turned[0] / turned[2], y = turned[1] / turned[2];
  const T square = x * x + y * y;
  const T scale = 1.0 + camera[9] * square + camera[10] * square * square;
  return {weight * (x * scale * camera[6] + camera[7] - seen[0]),
          weight * (y * scale * camera[6] + camera[8] - seen[1])};
}

template <class T>
T weight_error(const T& weight) {
  return 1.0 - weight * weight;
}

}  // namespace tidemark::bench
