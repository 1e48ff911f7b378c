#include "tidemark/autodiff/disk_loops.h"

#include <numeric>

#include "tidemark/autodiff/loop_pairs.h"
#include "tidemark/autodiff/loop_records.h"
#include "tidemark/autodiff/lower_loops.h"
#include "tidemark/ir/effects.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

void add_wishes(const Graph& graph, bool inside, std::vector<FolderWish>& wishes) {
  for (const Node& node : graph.nodes()) {
    if (node.op == &op::loop_reverse) {
      const auto attrs = unpack<LoopReverseAttrs>(node.attrs);
      if (attrs.disk > 0) wishes.push_back({attrs.folder, node.where, inside});
    }
    for (const Graph& region : node.regions) add_wishes(region, true, wishes);
  }
}

}  // namespace

std::int64_t DiskLoop::state_bytes() const {
  return std::accumulate(state.begin(), state.end(), std::int64_t{0});
}
std::int64_t DiskLoop::record_bytes() const {
  return std::accumulate(record.begin(), record.end(), std::int64_t{0});
}

std::vector<DiskLoop> disk_loops(const Graph& unlowered) {
  std::vector<DiskLoop> list;
  const std::map<std::uint32_t, NodeId> pairs = loop_pairs(unlowered);
  const std::map<std::uint32_t, std::size_t> numbers = loop_numbers(unlowered, pairs);
  for (const auto& [n, reversal] : pairs) {
    const Node &node = unlowered.nodes()[n], &back = unlowered[reversal];
    const auto attrs = unpack<LoopAttrs>(node.attrs);
    if (attrs.disk <= 0) continue;
    const auto reversed = unpack<LoopReverseAttrs>(back.attrs);
    const LoopRecords records = records_of(reversed, lower_loops(back.regions[1]));
    DiskLoop loop{.number = numbers.at(n),
                  .where = node.where,
                  .trips = attrs.trips,
                  .memory = attrs.memory,
                  .disk = attrs.disk,
                  .state = {},
                  .record = {},
                  .slice_bytes = 0,
                  .replayable = first_unreplayable(node.regions[0]) == nullptr,
                  .step = lower_loops(back.regions[0]),
                  .back = gradients_alone(records.joint, reversed)};
    for (std::size_t c = 0; c < static_cast<std::size_t>(attrs.carries); ++c)
      loop.state.push_back(unlowered.type(node.operands[c]).bytes());
    for (std::size_t y = 0; y < node.regions[0].outputs().size(); ++y) {
      if (y >= loop.state.size())
        loop.slice_bytes += node.regions[0].type(node.regions[0].outputs()[y]).bytes();
    }
    for (std::size_t r = records.at.float_carries; r < records.at.stacked_end; ++r)
      loop.slice_bytes += records.joint.type(records.joint.outputs()[r]).bytes();
    for (ValueId v : records.stacked) loop.record.push_back(records.joint.type(v).bytes());
    list.push_back(std::move(loop));
  }
  return list;
}

std::vector<FolderWish> folder_wishes(const Graph& graph) {
  std::vector<FolderWish> wishes;
  add_wishes(graph, false, wishes);
  return wishes;
}

}  // namespace tidemark
