// One element limited to two bounds, written so that NaN stays NaN. Kernels on a GPU include this text too.
#pragma once

namespace tidemark {

template <class T>
T clamp_element(T x, T low, T high) {
  return x < low ? low : x > high ? high : x;
}

}  // namespace tidemark
