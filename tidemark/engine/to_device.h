// Tensors copied to a device, for compiled functions that run there (CompileOptions::device) to read in
// place. A call takes tensors of the host as well, and copies them each time: this is for those that many
// calls read and none donates. What a call is given to overwrite moves there by itself, once.
//
//   const Params there = td::to_device(params, device);
#pragma once
#include <memory>

#include "tidemark/trace/to_host.h"

namespace tidemark {

class Device;

namespace detail {

class DeviceTensors final : public TreeVisitor {
 public:
  DeviceTensors(std::shared_ptr<Device> device, SourceLine where);
  ~DeviceTensors() override;
  void on_tensor(Tensor& tensor) override;

 private:
  const std::shared_ptr<Device> device_;
  const SourceLine where_;
};

}  // namespace detail

// The tree with every tensor in the device's memory. Those that lie there are the same tensors, as are empty
// and traced ones: where a traced tensor will lie, the function's options say. For the CPU the same as
// to_host. Throws DeviceError at `where` when the device has no memory for it.
template <class Tree>
Tree to_device(Tree tree, const std::shared_ptr<Device>& device,
               SourceLine where = std::source_location::current()) {
  detail::DeviceTensors visitor(device, where);
  walk_tree(tree, visitor);
  return tree;
}

}  // namespace tidemark
