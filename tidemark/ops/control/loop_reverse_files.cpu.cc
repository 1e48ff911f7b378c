#include <filesystem>

#include "tidemark/base/error.h"
#include "tidemark/ops/control/loop_files.h"
#include "tidemark/ops/control/loop_reverse_cpu.h"
#include "tidemark/schedule/run.h"
#include "tidemark/schedule/store/store_files.h"

namespace tidemark {
namespace {

using schedule::Step;

// A loop as the executor of schedules sees it. The record of a step is the state before it, which stays where
// it is.
class LoopSteps final : public schedule::Simulation {
 public:
  LoopSteps(const KernelArgs& args, const Reversal& reversal, Gradients& gradients, ScratchPieces& scratch)
      : args_(args),
        r_(reversal),
        gradients_(gradients),
        in_(gradients.step_pointers()),
        out_(in_ + reversal.at.carries + reversal.at.scanned + reversal.at.captured),
        handed_(reversal.states, in_, out_, scratch) {
    const ReversalLayout& at = r_.at;
    for (std::size_t i = 0; i < at.captured; ++i)
      in_[at.carries + at.scanned + i] = captured_value(args, r_, i);
    for (std::size_t c = 0; c < at.carries; ++c) {
      in_[c] = scratch.take(r_.in_bytes[c]);
      copy_bytes(in_[c], args.in[c].data, r_.in_bytes[c]);
      bytes_ += static_cast<std::size_t>(r_.in_bytes[c]);
    }
  }

  void advance(schedule::Steps range) override {
    TM_CHECK(!recorded_, "a step is recorded and then gone on from");
    const ReversalLayout& at = r_.at;
    for (Step j = range.begin; j < range.end; ++j) {
      const std::int64_t slice = r_.attrs.reverse ? r_.attrs.trips - 1 - j : j;
      for (std::size_t i = at.carries; i < at.carries + at.scanned; ++i)
        in_[i] = args_.in[i].data + slice * r_.in_bytes[i];
      handed_.aim();
      args_.regions[0](in_, out_);
      handed_.hand_on();
    }
  }
  void seed() override {}
  void record(Step) override { recorded_ = true; }
  void reverse(Step step) override {
    gradients_.reverse(step, [&](std::size_t c) { return in_[c]; });
  }

  std::size_t state_bytes() const override { return bytes_; }
  void save_state(std::span<std::byte> to) const override {
    TM_CHECK(!recorded_, "a step is recorded and then stored");
    std::byte* at = to.data();
    for (std::size_t c = 0; c < r_.at.carries; ++c) {
      copy_bytes(at, in_[c], r_.in_bytes[c]);
      at += r_.in_bytes[c];
    }
  }
  void load_state(std::span<const std::byte> from) override {
    const std::byte* at = from.data();
    for (std::size_t c = 0; c < r_.at.carries; ++c) {
      copy_bytes(in_[c], at, r_.in_bytes[c]);
      at += r_.in_bytes[c];
    }
    recorded_ = false;
  }

  // Schedules of states keep no records in slots, and nothing is resumed.
  std::size_t record_into(int, std::int32_t, Step) override { return no_records(); }
  void reverse_from(int, std::int32_t, Step) override { no_records(); }
  void drop_record(int, std::int32_t) override { no_records(); }
  bool records_have_bytes() const override { return false; }
  std::size_t record_bytes() const override { return 0; }
  void save_record(std::span<std::byte>) const override { no_records(); }
  void load_record(std::span<const std::byte>) override { no_records(); }
  bool adjoint_has_bytes() const override { return false; }
  std::size_t adjoint_bytes() const override { return 0; }
  void save_adjoint(std::span<std::byte>) const override {}
  void load_adjoint(std::span<const std::byte>) override {}

 private:
  [[noreturn]] static std::size_t no_records() { throw InternalError("a record of a loop in a slot"); }

  const KernelArgs& args_;
  const Reversal& r_;
  Gradients& gradients_;
  std::byte **in_, **out_;  // of the step; the carried ones among `in_` are the working state
  HandedPointers handed_;
  std::size_t bytes_ = 0;
  bool recorded_ = false;  // the working state is one behind what the executor takes it for
};

std::string folder_of(const LoopReverseAttrs& attrs) {
  if (!attrs.folder.empty()) return attrs.folder;
  std::error_code error;
  const std::filesystem::path path = std::filesystem::temp_directory_path(error);
  return error ? "/tmp" : path.string();
}

}  // namespace

void reverse_with_files(const KernelArgs& args, const Reversal& reversal, Gradients& gradients,
                        ScratchPieces& scratch) {
  const LoopReverseAttrs& a = reversal.attrs;
  LoopSteps steps(args, reversal, gradients, scratch);
  const auto state = static_cast<std::int64_t>(steps.state_bytes());
  schedule::RunOptions options;
  options.unnamed = true;  // nobody else can open what is gone when the kernel returns, or the process ends
  options.state_bytes = state;
  options.record_bytes = 1;
  options.buffers = file_buffers;
  options.levels.resize(2);
  options.levels[0].slots = a.memory_slots;
  options.levels[0].memory = scratch.take(files_slots_scratch(a, state));
  options.levels[1].slots = a.disk_slots;
  options.levels[1].directory = folder_of(a);
  options.staging = scratch.take(0);
  try {
    schedule::detail::run(steps, *reversal.files, options);
  } catch (const Error& error) {
    ErrorParts parts = error.parts();
    if (!parts.where.known()) parts.where = args.where;
    fail(error.code(), std::move(parts));
  }
}

}  // namespace tidemark
