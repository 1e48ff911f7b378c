// The sum over points of the squared distance to the nearest centroid.
#pragma once
#include <span>
#include <vector>

namespace tidemark::bench {

struct KMeans {
  std::size_t dimensions = 1;
  std::vector<double> points;  // by dimensions

  template <class T>
  T operator()(std::span<const T> centroids) const {
    const std::size_t d = dimensions;
    T cost = 0.0;
    for (std::size_t p = 0; p < points.size(); p += d) {
      T nearest = distance(&points[p], &centroids[0]);
      for (std::size_t c = d; c < centroids.size(); c += d) {
        const T other = distance(&points[p], &centroids[c]);
        if (other < nearest) nearest = other;
      }
      cost += nearest;
    }
    return cost;
  }

 private:
  template <class T>
  T distance(const double* point, const T* centroid) const {
    T sum = 0.0;
    for (std::size_t i = 0; i < dimensions; ++i) {
      const T difference = point[i] - centroid[i];
      sum += difference * difference;
    }
    return sum;
  }
};

}  // namespace tidemark::bench
