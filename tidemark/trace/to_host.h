// Tensors that lie on a device, copied to the host: to keep them when the device's memory is needed, or to
// hand them to code that reads bytes. Reading a tensor needs no such call: values are fetched when they are
// asked for, and kept until the tensor is overwritten or gone.
//
//   const Params kept = td::to_host(params);
#pragma once
#include "tidemark/trace/tree.h"

namespace tidemark {
namespace detail {

class HostTensors final : public TreeVisitor {
 public:
  explicit HostTensors(SourceLine where) : where_(where) {}
  void on_tensor(Tensor& tensor) override;

 private:
  SourceLine where_;
};

}  // namespace detail

// The tree with every tensor on the host. Those that lie there are the same tensors, as are empty and traced
// ones.
template <class Tree>
Tree to_host(Tree tree, SourceLine where = std::source_location::current()) {
  detail::HostTensors visitor(where);
  walk_tree(tree, visitor);
  return tree;
}

}  // namespace tidemark
