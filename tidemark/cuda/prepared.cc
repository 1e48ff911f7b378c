#include "tidemark/cuda/prepared.h"

#include "tidemark/base/check.h"
#include "tidemark/cuda/target.h"

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::cuda {
namespace {

constexpr std::size_t fewest_recorded = 2;  // below, a graph saves nothing

}  // namespace

CudaPrepared::CudaPrepared(CommandStream& commands, std::span<const Address> arenas, const Context& context,
                           const Blas& blas, KernelCache& cache, ThreadPool& pool,
                           std::unique_ptr<DiskCopies> disks)
    : parts_{.context = context,
             .blas = blas,
             .algorithms = PlanAlgorithms(commands.algorithms(), blas.choices().machine()),
             .pool = pool,
             .tf32 = uses_tf32(commands.target())},
      sequence_(parts_) {
  parts_.disks = std::move(disks);
  for (const Address arena : arenas) parts_.arenas.push_back(static_cast<CUdeviceptr>(arena.value));
  while (const Command* command = commands.next()) sequence_.add(*command);
  sequence_.begin_lanes();
  parts_.kernels.load(context, cache, pool);
  parts_.staging = std::make_unique<PinnedMemory>(context, parts_.staging_bytes);
  parts_.failures = std::make_unique<FailureFlags>(context, sequence_.flags());
  parts_.moves.set_flags(*parts_.failures);
  parts_.failures->clear(parts_.stream);
  parts_.stream.wait();  // whatever runs first finds them clear, on any stream
  sequence_.set_flags(0);
}

CudaPrepared::~CudaPrepared() {
  parts_.context.use_to_release();
  parts_.context.driver().stream_wait(parts_.stream.get());  // nothing may run on in memory given back
}

void CudaPrepared::bind(std::span<const Address> arguments) {
  std::vector<CUdeviceptr> now;
  now.reserve(arguments.size());
  for (const Address argument : arguments) now.push_back(static_cast<CUdeviceptr>(argument.value));
  if (binding_ > 0 && now == arguments_) return;
  arguments_ = std::move(now);
  ++binding_;
  ran_with_binding_ = false;
  sequence_.bind(arguments_);
}

std::vector<CudaPrepared::Piece> CudaPrepared::pieces_of(std::size_t first, std::size_t last) const {
  std::vector<Piece> pieces;
  for (std::size_t i = first; i < last;) {
    std::size_t end = i;
    while (end < last && !sequence_.needs_host(end)) ++end;
    Piece& piece = pieces.emplace_back();
    piece.first = i;
    piece.last = std::max(end, i + 1);
    if (end - i >= fewest_recorded) piece.graph = std::make_unique<RecordedGraph>(parts_.context);
    i = piece.last;
  }
  return pieces;
}

void CudaPrepared::run(Piece& piece) {
  if (!piece.graph || !ran_with_binding_ || clock_) return sequence_.put(piece.first, piece.last);
  if (piece.recorded != binding_) {
    piece.graph->record(parts_.stream, [&] { sequence_.record(piece.first, piece.last); });
    piece.recorded = binding_;
  }
  piece.graph->launch(parts_.stream);
}

void CudaPrepared::run(std::size_t first, std::size_t last) {
  parts_.context.use();
  auto known = ranges_.find({first, last});
  if (known == ranges_.end()) known = ranges_.emplace(std::pair(first, last), pieces_of(first, last)).first;
  const bool uses_disk = sequence_.uses_disk(first, last);
  if (parts_.disks && first == 0) parts_.disks->begin_run();
  if (clock_ && first == 0) clock_->start(parts_.stream);
  try {
    try {
      for (Piece& piece : known->second) {
        if (uses_disk && sequence_.needs_host(piece.first)) wait();  // the host may ask what the values are
        run(piece);
      }
    } catch (const FlagSeen&) {
      wait();
      report(sequence_.first_failed(first, last));
    }
    const bool can_fail = sequence_.can_fail(first, last);
    if (last < sequence_.size() && !can_fail && !uses_disk) return;
    if (can_fail) parts_.failures->fetch(parts_.stream);
    wait();
    if (const std::size_t failed = sequence_.first_failed(first, last); failed < last) report(failed);
    ran_with_binding_ |= last == sequence_.size();
    if (parts_.disks && last == sequence_.size()) parts_.disks->end_run();
    if (clock_ && last == sequence_.size()) clock_->read(times_->commands);
  } catch (...) {
    parts_.context.driver().stream_wait(parts_.stream.get());
    throw_disk_failure();  // what else went wrong may follow from it
    throw;
  }
}

bool CudaPrepared::record(RecordedTimes* times) {
  times_ = times;
  clock_.reset();
  if (times) {
    clock_ = std::make_unique<ItemClock>(parts_.context, sequence_.size());
    times->commands.resize(sequence_.size());
  }
  sequence_.set_clock(clock_.get());
  return true;
}

void CudaPrepared::wait() {
  parts_.stream.wait();
  throw_disk_failure();
}

// Calls may have found fault with values that never came.
void CudaPrepared::throw_disk_failure() {
  if (!parts_.disks || !parts_.disks->failed()) return;
  parts_.failures->clear(parts_.stream);
  parts_.context.driver().stream_wait(parts_.stream.get());
  parts_.disks->throw_failure();
}

// Its operands may have been overwritten since: everything before it runs again, which it may, as no argument
// has been written; then the CPU says what is wrong.
void CudaPrepared::report(std::size_t failed) {
  TM_CHECK(failed < sequence_.size(), "a flag that no command has");
  parts_.failures->clear(parts_.stream);
  sequence_.put(0, failed);
  wait();
  sequence_.throw_failure(failed);
}

std::int64_t CudaPrepared::held_bytes() const {
  constexpr std::size_t per_kernel = std::size_t{16} << 10;  // a binary and its text
  return static_cast<std::int64_t>(sizeof(*this) + parts_.kernels.size() * per_kernel) +
         sequence_.held_bytes() + parts_.staging_bytes + (parts_.disks ? parts_.disks->held_bytes() : 0);
}

}  // namespace tidemark::cuda

#endif
