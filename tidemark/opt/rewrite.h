// Builds a new graph from an old one, remembering where each value went. What a caller of the graph can see
// stays: its name, all inputs in order with their names and donation, all outputs in order. Nodes keep lines,
// names and checkpoints; hints follow their values.
#pragma once
#include <functional>

#include "tidemark/ir/graph.h"

namespace tidemark {

class Rewriter {
 public:
  // `on_region` rewrites the regions of copied nodes, usually by the same pass.
  Rewriter(const Graph& source, std::function<Graph(const Graph&)> on_region);

  const Graph& source() const { return source_; }
  Graph& target() { return target_; }

  ValueId image(ValueId v) const;
  bool has_image(ValueId v) const { return image_[v.index].valid(); }
  // `v` of the source is from now on `replacement` of the target, which takes v's name if it has none.
  void map(ValueId v, ValueId replacement);

  Node translated(const Node& node) const;  // operands as images, regions rewritten
  void append(NodeId id, Node node);        // the translated node; maps its results
  void copy(NodeId id) { append(id, translated(source_[id])); }

  Graph finish();  // adds the outputs

 private:
  const Graph& source_;
  std::function<Graph(const Graph&)> on_region_;
  Graph target_;
  std::vector<ValueId> image_;
};

}  // namespace tidemark
