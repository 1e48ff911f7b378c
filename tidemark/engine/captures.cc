#include "tidemark/engine/captures.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/engine/to_device.h"
#include "tidemark/trace/storage.h"

namespace tidemark {
namespace {

bool holds(const ValueRead& read) {
  const Tensor* tensor = read.variable->variable();
  return tensor && tensor->is_data() && tensor->storage()->id == read.storage &&
         tensor->storage()->version() == read.version;
}

}  // namespace

Captures::Captures(std::span<const Tensor> tensors, std::span<const std::shared_ptr<Watch>> variables,
                   std::span<const ValueRead> reads) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const bool constant = !variables[i] || !variables[i]->variable();  // it lived inside the function only
    list_.push_back({.type = tensors[i].type(),
                     .variable = constant ? nullptr : variables[i],
                     .constant = constant ? tensors[i] : Tensor()});
  }
  for (const ValueRead& read : reads) {
    if (read.variable->variable()) reads_.push_back(read);
  }
}

bool Captures::read(std::vector<Tensor>& inputs) const {
  for (const ValueRead& value : reads_) {
    if (!holds(value)) return false;
  }
  for (const Captured& captured : list_) {
    if (!captured.variable) {
      inputs.push_back(captured.constant);
      continue;
    }
    const Tensor* tensor = captured.variable->variable();
    if (!tensor || !tensor->is_data() || tensor->type() != captured.type) return false;
    inputs.push_back(*tensor);
  }
  return true;
}

void Captures::move_constants(const std::shared_ptr<Device>& device, SourceLine where) {
  for (Captured& captured : list_) {
    if (!captured.variable) captured.constant = to_device(captured.constant, device, where);
  }
}

bool Captures::lost() const {
  const auto gone = [](const auto& entry) { return entry.variable && !entry.variable->variable(); };
  return std::ranges::any_of(list_, gone) || std::ranges::any_of(reads_, gone);
}

std::string Captures::signature() const {
  std::string text;
  for (const Captured& captured : list_) text += to_string(captured.type) + ";";
  for (const ValueRead& read : reads_) text += fmt::format("{}.{};", read.storage, read.version);
  return text;
}

std::int64_t Captures::constant_bytes() const {
  std::int64_t bytes = 0;
  for (const Captured& captured : list_) {
    const bool own = !captured.variable && !captured.constant.storage()->foreign();
    bytes += own ? captured.type.bytes() : 0;
  }
  return bytes;
}

}  // namespace tidemark
