// A plan's commands made ready on a GPU. The first run with some addresses puts them into the stream one by
// one; from the second on they run as recorded graphs, which are brought up to date when addresses change.
#pragma once
#include <map>
#include <memory>
#include <vector>

#include "tidemark/cuda/sequence.h"
#include "tidemark/runtime/device.h"

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::cuda {

class CudaPrepared final : public Prepared {
 public:
  CudaPrepared(CommandStream& commands, std::span<const Address> arenas, const Context& context,
               const Blas& blas, KernelCache& cache, ThreadPool& pool, std::unique_ptr<DiskCopies> disks);
  ~CudaPrepared() override;

  void bind(std::span<const Address> arguments) override;
  // Waits where the last command is among them: others follow.
  void run(std::size_t first, std::size_t last) override;
  // Recorded graphs have no place for the events: while times are wanted, commands go into the stream one by
  // one. Bodies of loops are not timed by themselves.
  bool record(RecordedTimes* times) override;
  std::int64_t held_bytes() const override;
  PlannedAlgorithms algorithms() const override { return parts_.algorithms.used(); }

 private:
  // Commands that can be recorded together, or one that cannot be.
  struct Piece {
    std::size_t first = 0, last = 0;
    std::unique_ptr<RecordedGraph> graph = {};  // none: too little to record, or the host takes part
    int recorded = 0;                           // the binding that is recorded
  };
  std::vector<Piece> pieces_of(std::size_t first, std::size_t last) const;
  void run(Piece& piece);
  [[noreturn]] void report(std::size_t failed);
  void wait();  // for all that was put in; throws what a disk failed with
  void throw_disk_failure();

  SequenceParts parts_;
  Sequence sequence_;
  RecordedTimes* times_ = nullptr;    // null: nobody wants to know
  std::unique_ptr<ItemClock> clock_;  // likewise
  std::vector<CUdeviceptr> arguments_;
  int binding_ = 0;  // changes with the addresses
  bool ran_with_binding_ = false;
  std::map<std::pair<std::size_t, std::size_t>, std::vector<Piece>> ranges_;
};

}  // namespace tidemark::cuda

#endif
