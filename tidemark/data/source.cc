#include "tidemark/data/source.h"

#include <fmt/format.h>

#include <cstring>

#include "tidemark/files/archive.h"
#include "tidemark/trace/storage.h"

namespace tidemark::data {
namespace {

[[noreturn]] void refuse_source(std::string what, std::string expected, SourceLine where) {
  fail(ErrorCode::bad_loader_option,
       {.what = std::move(what), .expected = std::move(expected), .where = where});
}

}  // namespace

std::vector<Tensor> take_rows(std::span<const Tensor> tensors, std::span<const std::int64_t> indices) {
  std::vector<Tensor> taken;
  for (const Tensor& tensor : tensors) {
    Type type = tensor.type();
    const std::int64_t length = type.shape[0];
    type.shape[0] = 1;
    const auto row = static_cast<std::size_t>(type.bytes());
    type.shape[0] = static_cast<std::int64_t>(indices.size());
    NewTensor made(type);
    const Reading reading = tensor.read();
    std::byte* to = made.bytes.data();
    for (const std::int64_t index : indices) {
      TM_CHECK(index >= 0 && index < length);
      if (row > 0) std::memcpy(to, reading.data() + static_cast<std::size_t>(index) * row, row);
      to += row;
    }
    taken.push_back(std::move(made).tensor());
  }
  return taken;
}

std::vector<Tensor> stack_examples(std::span<const std::vector<Tensor>> examples) {
  std::vector<Tensor> stacked;
  for (std::size_t place = 0; place < examples.front().size(); ++place) {
    const Type one = examples.front()[place].type();
    Type type = one;
    type.shape.insert(0, static_cast<std::int64_t>(examples.size()));
    NewTensor made(type);
    std::byte* to = made.bytes.data();
    for (const std::vector<Tensor>& example : examples) {
      if (example.size() != examples.front().size() || example[place].type() != one) {
        refuse_source(fmt::format("examples of one batch differ: {} and {}", to_string(one),
                                  place < example.size() ? to_string(example[place].type()) : "nothing"),
                      "the same tensors of the same types in each", {});
      }
      const Reading reading = example[place].read();
      const auto bytes = static_cast<std::size_t>(one.bytes());
      if (bytes > 0) std::memcpy(to, reading.data(), bytes);
      to += bytes;
    }
    stacked.push_back(std::move(made).tensor());
  }
  return stacked;
}

std::int64_t common_length(std::span<const Tensor> tensors, std::span<const std::string> names,
                           SourceLine where) {
  if (tensors.empty()) refuse_source("there is no tensor to take examples from", "at least one", where);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    const std::string name = names[i].empty() ? "the tensor" : "`" + names[i] + "`";
    if (!tensor.is_data())
      refuse_source(fmt::format("{} holds no data", name), "tensors that hold data", where);
    if (tensor.rank() == 0)
      refuse_source(fmt::format("{} is a scalar", name), "a first dimension of examples", where);
    if (tensor.size(0) != tensors[0].size(0)) {
      refuse_source(fmt::format("{} has {} examples, and those before have {}", name, tensor.size(0),
                                tensors[0].size(0)),
                    "first dimensions of one length", where);
    }
  }
  return tensors[0].size(0);
}

}  // namespace tidemark::data
