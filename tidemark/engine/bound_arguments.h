// The arguments of one call where the program's device reads them, held for the run. What lies on that
// device is used in place. Of the others, those that are read are copied into the workspace's memory for
// arguments, and those that are donated get memory of their own there: the result that takes their place
// lives in it, so that state which goes around a loop is copied once.
#pragma once
#include <span>
#include <vector>

#include "tidemark/engine/workspace.h"
#include "tidemark/plan/plan.h"

namespace tidemark {

class BoundArguments {
 public:
  // Throws Error at `where` for tensors without values or whose memory is gone, in use, not to be written, or
  // shared with what is donated; DeviceError when the device has no memory for them. Nothing has happened
  // then.
  BoundArguments(const Graph& graph, const Plan& plan, std::span<const Tensor> inputs,
                 const Workspace::Lease& lease, SourceLine where);

  std::span<const Address> addresses() const { return addresses_; }
  // The run has ended: handles to what was donated are stale, and what takes its place lies on the device.
  void give_away(SourceLine where);
  // The run has failed, and had begun to write. What was donated in place is lost; what was copied to the
  // device first is as it was.
  void lose(SourceLine where);

 private:
  struct Donated {
    Overwriting overwriting;
    bool in_place = true;
    bool is_replaced = false;  // a result takes its place
    // Where it lies for the run, if not in place: on the device, or if that is the host there.
    std::shared_ptr<DeviceMemory> memory = {};
    AlignedBytes own = {};
  };
  struct Upload {
    std::size_t input;
    std::int64_t offset;  // in the memory for arguments
  };
  void read(std::span<const Tensor> inputs, SourceLine where);
  void take_donated(std::span<const Tensor> inputs, SourceLine where);
  void place(std::size_t input, Donated& donated);
  void upload(std::span<const Tensor> inputs, const Workspace::Lease& lease);

  const Graph& graph_;
  const Plan& plan_;
  const std::shared_ptr<Device>& device_;
  const bool on_host_;
  std::vector<Address> addresses_;                // by input
  std::vector<std::optional<Reading>> readings_;  // by input; none: donated
  std::vector<Donated> donated_;
  std::vector<Upload> uploads_;
  std::int64_t upload_bytes_ = 0;
};

}  // namespace tidemark
