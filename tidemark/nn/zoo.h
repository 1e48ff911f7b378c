// Built-in models as graphs of one training step: what `tidemark plan NAME` plans without running. Built from
// types alone: no parameter is ever allocated, so a model may be far larger than this machine.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "tidemark/nn/training_step.h"

namespace tidemark::nn {

// What is not given is the model's own. The context counts tokens, pixels of an image's side, or steps
// (ZooSize::unit). Of another width, heads keep their width and hidden layers their share of it. The dtype
// (f32, bf16 or f16) is that of parameters and activations; moments are f32, and losses are not scaled.
struct ZooOptions {
  std::optional<std::int64_t> batch = {}, context = {}, layers = {}, width = {};
  std::optional<DType> dtype = {};
  std::optional<OptimizerKind> optimizer = {};
};

// The sizes a model is built with.
struct ZooSizes {
  std::int64_t batch = 1, context = 0, layers = 0, width = 0;
  DType dtype = DType::f32;
};

struct ZooSize {
  std::string_view unit = "";  // empty: the model has no such size
  std::int64_t standard = 0;
  std::int64_t least = 1, most = 1 << 20, multiple_of = 1;

  bool exists() const { return !unit.empty(); }
};

enum class ZooAxis : std::uint8_t { batch, context, width, layers };
inline constexpr ZooAxis zoo_axes[] = {ZooAxis::batch, ZooAxis::context, ZooAxis::width, ZooAxis::layers};
std::string_view name_of(ZooAxis axis);

struct ZooModel {
  std::string_view name;
  std::string_view about;
  std::int64_t batch = 1;  // this and the next five: when not given
  ZooSize context = {}, layers = {}, width = {};
  DType dtype = DType::f32;
  OptimizerKind optimizer = OptimizerKind::sgd;
  LossGraph (*loss)(const ZooSizes& sizes) = nullptr;

  ZooSize size(ZooAxis axis) const;
  // Throws Error for an option the model cannot take.
  Graph training_step(const ZooOptions& options = {}) const;
};

std::span<const ZooModel> zoo();
const ZooModel* find_in_zoo(std::string_view name);  // nullptr when there is none

}  // namespace tidemark::nn
