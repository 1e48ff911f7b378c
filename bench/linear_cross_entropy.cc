// The loss of a language model's head with and without its logits: memory beside what comes in and goes out
// (arguments and gradients), and time.
//
//   linear_cross_entropy [TOKENS [WIDTH [VOCABULARY]]]
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "tidemark/tidemark.h"

namespace td = tidemark;

namespace {

constexpr int runs = 6;  // of each, in turns; the first is not counted

td::Tensor with_logits(const std::pair<td::Tensor, td::Tensor>& p, const td::Tensor& labels) {
  return td::mean(td::cross_entropy(td::matmul(p.first, td::transpose(p.second)), labels));
}
td::Tensor without_logits(const std::pair<td::Tensor, td::Tensor>& p, const td::Tensor& labels) {
  return td::linear_cross_entropy(p.first, p.second, labels);
}

template <class Step, class... Arguments>
double seconds_of(const Step& step, const Arguments&... arguments) {
  const auto start = std::chrono::steady_clock::now();
  (void)step(arguments...);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace

int main(int count, char** arguments) {
  const auto size = [&](int i, std::int64_t standard) {
    return count > i ? std::atoll(arguments[i]) : standard;
  };
  const std::int64_t tokens = size(1, 4096), width = size(2, 768), vocabulary = size(3, 50'000);
  const std::pair p{td::random_normal(td::key(0), {tokens, width}),
                    td::random_normal(td::key(1), {vocabulary, width}, 0, 0.05)};
  const td::Tensor labels =
      td::cast(td::floor(td::random_uniform(td::key(2), {tokens}, 0, static_cast<double>(vocabulary))),
               td::DType::i32);
  const auto old_way = td::compile(td::value_and_grad(with_logits));
  const auto new_way = td::compile(td::value_and_grad(without_logits));
  std::vector<double> old_times, new_times;
  for (int run = 0; run < runs; ++run) {
    const double a = seconds_of(old_way, p, labels), b = seconds_of(new_way, p, labels);
    if (run > 0) old_times.push_back(a), new_times.push_back(b);
  }
  const double logits = 4.0 * static_cast<double>(tokens) * static_cast<double>(vocabulary);
  const double ends = 4.0 * (2 * static_cast<double>(tokens + vocabulary) * static_cast<double>(width)) +
                      4.0 * static_cast<double>(tokens);
  const auto report = [&](const char* name, const auto& step, const std::vector<double>& times) {
    const double beside = static_cast<double>(step.plan().peak().count) - ends;
    fmt::print(
        "{:<15} {:>12} in all, {:>9.1f} MiB beside arguments and gradients ({:5.1f}% of the logits); {:.3f} "
        "s\n",
        name, to_string(step.plan().peak()), beside / (1 << 20), 100 * beside / logits, median(times));
  };
  report("with logits", old_way, old_times);
  report("without", new_way, new_times);
  fmt::print("time without / with {:.3f}, predicted {:.3f}\n", median(new_times) / median(old_times),
             new_way.plan().plan.seconds / old_way.plan().plan.seconds);
  const double a = std::get<0>(old_way(p, labels)).item(), b = std::get<0>(new_way(p, labels)).item();
  fmt::print("loss {:.7f} and {:.7f}\n", a, b);
}
