#include "tidemark/engine/call_cache.h"

#include <algorithm>
#include <set>

namespace tidemark {
namespace {

// Traces of one set of arguments that read values of captured tensors: programs that step through many such
// values need the latest ones at most.
constexpr std::ptrdiff_t most_per_key = 8;

// What a step takes at most once it is made ready, which happens behind the insertion, at the first run:
// bytes.
constexpr std::int64_t kernels_to_come = 2 << 10;

}  // namespace

std::shared_ptr<CompiledCall> CallCache::find(const std::string& key, std::vector<Tensor>& inputs) {
  const auto [first, last] = by_key_.equal_range(key);
  for (auto at = first; at != last; ++at) {
    std::vector<Tensor> captured;
    const Position place = at->second;
    if (!place->call->captures.read(captured)) continue;
    inputs.insert(inputs.end(), captured.begin(), captured.end());
    order_.splice(order_.begin(), order_, place);
    return place->call;
  }
  return nullptr;
}

std::shared_ptr<CompiledCall> CallCache::find_traced(const std::string& arguments,
                                                     std::vector<Tensor>& inputs) const {
  for (const Entry& entry : order_) {
    std::vector<Tensor> captured;
    if (!entry.call->traced || entry.call->arguments != arguments || !entry.call->captures.read(captured))
      continue;
    inputs.insert(inputs.end(), captured.begin(), captured.end());
    return entry.call;
  }
  return nullptr;
}

std::shared_ptr<Program> CallCache::find_program(const std::string& key, const GraphHash& graph_hash) const {
  const auto [first, last] = by_key_.equal_range(key);
  for (auto at = first; at != last; ++at) {
    if (at->second->call->graph_hash == graph_hash) return at->second->call->program;
  }
  return nullptr;
}

void CallCache::insert(const std::string& key, std::shared_ptr<CompiledCall> call) {
  const auto [first, last] = by_key_.equal_range(key);
  std::vector<Position> same;
  for (auto at = first; at != last; ++at) same.push_back(at->second);
  for (const Position place : same) {
    if (place->call->captures.lost()) drop(place);
  }
  order_.push_front({key, std::move(call)});
  by_key_.emplace(key, order_.begin());
  while (static_cast<std::ptrdiff_t>(by_key_.count(key)) > most_per_key) {
    const auto oldest =
        std::find_if(order_.rbegin(), order_.rend(), [&](const Entry& e) { return e.key == key; });
    drop(std::prev(oldest.base()));
  }
  while (order_.size() > 1 && bytes() > limit_) {
    const std::weak_ptr<Program> program = order_.back().call->program;
    drop(std::prev(order_.end()));
    evicted_ += program.expired();
  }
}

void CallCache::drop(Position place) {
  const auto [first, last] = by_key_.equal_range(place->key);
  by_key_.erase(std::find_if(first, last, [&](const auto& entry) { return entry.second == place; }));
  order_.erase(place);
}

void CallCache::clear() {
  by_key_.clear();
  order_.clear();
}

std::vector<std::shared_ptr<const Program>> CallCache::programs() const {
  std::vector<std::shared_ptr<const Program>> list;
  std::set<const Program*> seen;
  for (const Entry& entry : order_) {
    if (seen.insert(entry.call->program.get()).second) list.push_back(entry.call->program);
  }
  return list;
}

std::int64_t CallCache::constant_bytes() const {
  std::int64_t bytes = 0;
  for (const Entry& entry : order_) bytes += entry.call->captures.constant_bytes();
  return bytes;
}

std::int64_t CallCache::bytes() const {
  std::int64_t bytes = constant_bytes();
  std::set<const Graph*> traced;
  for (const Entry& entry : order_) {
    if (entry.call->traced && traced.insert(entry.call->traced.get()).second)
      bytes += held_bytes(*entry.call->traced);
  }
  for (const auto& program : programs()) {
    const HeldBytes held = program->held();
    bytes += held.total();
    if (held.kernels == 0) bytes += kernels_to_come * static_cast<std::int64_t>(program->plan().steps.size());
  }
  return bytes;
}

}  // namespace tidemark
