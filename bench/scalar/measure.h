// One row of the table: a gradient computed again and again, beside the function itself, in a process of its
// own, whose peak of resident memory is then the row's.
#pragma once
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "bench/scalar/problems/published.h"

namespace tidemark::bench {

struct Measured {
  double value = 0;
  double primal = 0, first = 0,
         later = 0;          // processor's seconds: medians, but `first` is the process's first
  double tape_bytes = -1;    // -1: the tool does not say
  double peak_resident = 0;  // bytes
  std::vector<double> gradient = {};
  std::string error = {};  // none: it ran
};

struct Settings {
  int least_runs = 5;
  double least_seconds = 1;
};

// A gradient as a tool computes it: what it gives is the function's value.
using Gradient = std::function<double(std::span<const double> inputs, std::span<double> gradient)>;

// Of this process. All of the tools work on one thread.
double processor_seconds();

// Gradients and values in turns, so that a busy machine is as busy for both.
template <class P>
Measured measure(const P& problem, const Settings& settings, const Gradient& gradient) {
  const auto seconds = [](const auto& work) {
    const double begin = processor_seconds();
    work();
    return processor_seconds() - begin;
  };
  const auto median = [](std::vector<double> times) {
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  };
  const std::vector<double> inputs = problem.inputs();
  Measured measured;
  measured.gradient.resize(inputs.size());
  const auto differentiate = [&] { measured.value = gradient(inputs, measured.gradient); };
  [[maybe_unused]] volatile double value = 0;  // so that it is computed
  const auto compute = [&] { value = evaluate<double>(problem, inputs); };
  measured.first = seconds(differentiate);
  compute();
  std::vector<double> primals, gradients;
  double spent = 0;
  while (static_cast<int>(gradients.size()) < settings.least_runs || spent < settings.least_seconds) {
    primals.push_back(seconds(compute));
    gradients.push_back(seconds(differentiate));
    spent += primals.back() + gradients.back();
  }
  measured.primal = median(primals);
  measured.later = median(gradients);
  return measured;
}

// Runs it in a child process. What it throws, and its death, become `error`.
Measured in_process_of_its_own(const std::function<Measured()>& work);

}  // namespace tidemark::bench
