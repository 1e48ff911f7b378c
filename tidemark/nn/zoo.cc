#include "tidemark/nn/zoo.h"

#include <fmt/format.h>

#include "tidemark/base/error.h"

namespace tidemark::nn {
namespace {

constexpr std::int64_t most_examples = 1 << 20;

[[noreturn]] void refuse(const ZooModel& model, const std::string& what, const std::string& expected) {
  fail(ErrorCode::bad_plan_option, {.what = fmt::format("{}: {}", model.name, what), .expected = expected});
}

std::int64_t chosen(const ZooModel& model, ZooAxis axis, std::optional<std::int64_t> given) {
  const ZooSize size = model.size(axis);
  if (!given) return size.standard;
  const std::string what = axis == ZooAxis::layers
                               ? fmt::format("{} layers", *given)
                               : fmt::format("a {} of {} {}", name_of(axis), *given, size.unit);
  if (!size.exists()) {
    refuse(model, what,
           axis == ZooAxis::context
               ? "no context: this model has one size of example"
               : fmt::format("no {}: those of this model are part of its shape", name_of(axis)));
  }
  if (*given < size.least || *given > size.most || *given % size.multiple_of != 0) {
    std::string expected = fmt::format("{} to {} {}", size.least, size.most, size.unit);
    if (size.multiple_of > 1) expected += fmt::format(", a multiple of {}", size.multiple_of);
    refuse(model, what, expected);
  }
  return *given;
}

DType chosen_dtype(const ZooModel& model, const ZooOptions& options) {
  const DType dtype = options.dtype.value_or(model.dtype);
  if (dtype != DType::f32 && dtype != DType::bf16 && dtype != DType::f16) {
    refuse(model, fmt::format("parameters of {}", name_of(dtype)), "f32, bf16 or f16");
  }
  return dtype;
}

}  // namespace

std::string_view name_of(ZooAxis axis) {
  constexpr std::string_view names[] = {"batch", "context", "width", "layers"};
  return names[static_cast<std::size_t>(axis)];
}

ZooSize ZooModel::size(ZooAxis axis) const {
  const ZooSize examples{.unit = "examples", .standard = batch, .most = most_examples};
  const ZooSize sizes[] = {examples, context, width, layers};
  return sizes[static_cast<std::size_t>(axis)];
}

Graph ZooModel::training_step(const ZooOptions& options) const {
  const ZooSizes sizes{.batch = chosen(*this, ZooAxis::batch, options.batch),
                       .context = chosen(*this, ZooAxis::context, options.context),
                       .layers = chosen(*this, ZooAxis::layers, options.layers),
                       .width = chosen(*this, ZooAxis::width, options.width),
                       .dtype = chosen_dtype(*this, options)};
  Graph graph = nn::training_step(loss(sizes), options.optimizer.value_or(optimizer));
  graph.name = name;
  return graph;
}

const ZooModel* find_in_zoo(std::string_view name) {
  for (const ZooModel& model : zoo()) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

}  // namespace tidemark::nn
