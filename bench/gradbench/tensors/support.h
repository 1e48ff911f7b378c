// How the tensor programs read numbers and answer: arrays in f64, functions compiled once and planned while
// the input is read, so that runs are runs.
#pragma once
#include "bench/gradbench/protocol.h"
#include "tidemark/tidemark.h"

namespace tidemark::bench {

inline Tensor vector_of(const Json& numbers) { return tensor(numbers.get<std::vector<double>>()); }

inline Tensor matrix_of(const Json& numbers) {
  const Rows rows = numbers;
  return tensor(flattened(rows), {std::ssize(rows), rows.empty() ? 0 : std::ssize(rows[0])});
}

inline Rows rows_of(const Tensor& matrix) {
  return rows_of(matrix.to_vector(), 0, static_cast<std::size_t>(matrix.shape()[0]),
                 static_cast<std::size_t>(matrix.shape()[1]));
}

// `run` of the input that `read` makes; once untimed.
template <class Read, class Run>
ProtocolFunction compiled_function(Read read, Run run) {
  const auto read_and_plan = [=](const Json& json) {
    auto input = read(json);
    run(input);
    return input;
  };
  return protocol_function(read_and_plan, run);
}

inline constexpr const char* tensor_tool = "tidemark-tensors";

}  // namespace tidemark::bench
