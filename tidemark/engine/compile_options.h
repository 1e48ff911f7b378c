// What a compiled function may hold, and how hard the planner tries.
//
//   auto step = td::compile(td::value_and_grad(loss), {.memory = 64_MiB, .effort = td::Effort::best});
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tidemark/base/bytes.h"
#include "tidemark/base/effort.h"
#include "tidemark/base/source.h"
#include "tidemark/cpu/disk_compression.h"
#include "tidemark/engine/program_options.h"
#include "tidemark/plan/choices.h"
#include "tidemark/plan/machine.h"
#include "tidemark/solve/plan_progress.h"

namespace tidemark {

class Device;
class Graph;

struct DiskBudget {
  std::string folder = {};
  Bytes bytes = {};
  // When the folder cannot be used, or fails in a call that can be made again (nothing donated was written,
  // and no effect happened), the function goes on without it for good, if that fits the memory.
  // memory_report() says why.
  bool fallback = false;
  // Values may be compressed on their way, exactly, so that fewer bytes are written and read; `bytes` are
  // reserved as without. Where calls are faster for it, as measured on the first ones and now and then;
  // never, or always. memory_report() says what was moved.
  DiskCompression compress = DiskCompression::automatic;
};

// Lossy copies of what derivative rules read. `error`: by how much a copy may differ from the value, as a
// share of the largest magnitude among its neighbours (the block that a format scales together).
struct Lossy {
  double error = 0;
};

// As many as the budget asks for.
struct Automatic {};
inline constexpr Automatic automatic{};

// In how many micro-batches a call is computed: a number, or `automatic`.
struct Accumulate {
  std::int64_t count = 1;
  bool is_automatic = false;

  constexpr Accumulate() = default;
  constexpr Accumulate(std::int64_t micro_batches) : count(micro_batches) {}  // NOLINT: implicit
  constexpr Accumulate(Automatic) : count(0), is_automatic(true) {}           // NOLINT: implicit
  constexpr bool is_plain() const { return count == 1 && !is_automatic; }     // the batch as it is
};

struct CompileOptions {
  // Everything the program holds counts: arguments, donated state, captured tensors, results, what is in
  // between. None: the least memory that costs no extra time.
  std::optional<Bytes> memory = {};
  // Asked before every call with a budget: how many bytes the machine has left for it. The call then keeps
  // to the largest of the budgets memory (or what set_memory said last), 7/8 of it, 7/8 of that and so on
  // which is within. Plans for each are kept.
  std::function<Bytes()> memory_left = {};
  // How many bytes of the host's memory values may wait in while nothing reads them, of a function that runs
  // on a device: they are moved beside computing. The memory is pinned, and the plan's figure of it is taken
  // with the first call. Only with `memory`.
  std::optional<Bytes> host = {};
  // A folder in which values may wait while nothing reads them, in files that nobody else can open and that
  // vanish with the function; and how many bytes of it. Only with `memory`. Of a function that runs on a GPU
  // they go there through 16 MiB of the host's memory, which count as `host` where that is given.
  std::optional<DiskBudget> disk = {};
  // Values that wait for the backward pass may do so in a smaller form that is not exact, where that makes
  // the plan faster or makes it fit at all: {.error = 4e-3} allows 8 bits per number. What the forward pass
  // computes is never touched, gradients are (gradient_error() says by how much). None: gradients are the
  // same to the bit at every budget.
  std::optional<Lossy> lossy = {};
  // What the plan may do to stay within the budget: only what is named, {Choice::recompute, Choice::disk},
  // say; {Choice::keep}: nothing. Not given: all of it, a disk where `disk` names one, the host's memory
  // where `host` gives some, lossy forms where `lossy` allows them, micro-batches where `accumulate` asks for
  // them. {Choice::compress} without `lossy` means exact forms alone. These may be used on the way to a disk,
  // and hints are followed, whatever is named.
  Choices allow = {};
  // Arguments (by position) whose tensors the function may overwrite: results of the same type take their
  // memory. The caller's handles to them become stale; use what the function returns.
  std::vector<int> donate = {};
  std::optional<Machine> machine =
      {};  // whose times count; none: the device's, reference_machine() on the CPU
  // Where calls run; none: the CPU. The plan's memory is the device's. Arguments may lie anywhere: those of
  // the host are copied to the device for each call, to_device() has them there for good, and donated ones
  // move there. Results lie there too, but for small ones, and whoever reads one on the host gets a copy.
  std::shared_ptr<Device> device = {};
  // Products of f32 may be computed in TF32, on the tensor cores of a GPU: their operands are rounded to 11
  // significant bits, sums are f32. Several times as fast, and other numbers, though the same at every
  // budget. Products alone: convolutions, attention and the losses of language models stay f32. Refused
  // where the device has no such thing.
  bool tf32 = false;
  // Large products of bf16 and f16 may be computed from numbers in 8 bits (fp8, E4M3), on a GPU whose tensor
  // cores take them: each operand is rounded to 4 significant bits, with one scale from its own largest
  // magnitude, sums are f32 and results bf16 or f16 again. Only where it is predicted to be faster with the
  // rounding counted: small and thin products stay, as do convolutions, attention and the losses of language
  // models. Other numbers, though the same at every budget; gradient_error() says how far off. Refused where
  // the device has no such thing.
  bool fp8 = false;
  // Files that save_plan wrote: a call runs by the plan that is of its graph (of several, the fastest within
  // `memory`), and nothing is searched for. A call that none is of is refused; so is a plan that takes more
  // than `memory`, or needs what the other options do not give. Read when compile is called.
  std::vector<std::string> plans = {};
  Effort effort = {};  // a factor, or a time: std::chrono::seconds(2)
  // Called while the planner works, on the thread that asked for the plan; false ends it with
  // PlanningStopped, and so does a stop that is asked for from any thread. Nothing is kept of a planning that
  // was stopped: the next call plans anew.
  PlanCallback progress = {};
  StopToken stop = {};
  // The largest batch there will be: planned and reserved for at the first call, and every smaller batch runs
  // inside that plan's memory.
  std::optional<std::int64_t> max_batch = {};
  // Arguments (by position) whose tensors have the batch as their first axis. Empty: found by trying, from
  // the last argument on that is not donated.
  std::vector<int> batch_arguments = {};
  // The batch is computed in so many micro-batches, one after the other, inside one plan: sums over examples,
  // such as gradients and losses, are added up and divided once, so that they are those of the whole batch
  // but for rounding, and a batch of 64 in 8 runs in about the memory of 8. With `automatic`, as many as let
  // the plan be fastest within the budget; without a budget, one. What needs all examples at once, such as
  // batch normalisation, is refused.
  Accumulate accumulate = {};
  // Results of how many earlier calls will still be held when the function is called again, as in g =
  // step(x). The plan leaves room for them in the budget; without it such a call is refused where they do not
  // fit.
  int held_results = 0;
  // For the graphs, plans and kernels of calls made before, one for each set of types: those used least
  // recently go. Not part of `memory`, which is for tensors.
  Bytes cache = Bytes(std::int64_t{64} << 20);
  ProgramOptions program = {};
};

// Throws Error at `where` for a budget or an effort of nothing, positions that are none, a largest batch or a
// number of micro-batches below 1, and for choices that the other options do not provide for.
// What only asks for budgets (`to_run` false) needs none.
void check_options(const CompileOptions& options, std::size_t arguments, SourceLine where,
                   bool to_run = true);

// Without memory of the host, a disk, lossy forms and micro-batches that are not allowed. A number of
// micro-batches stays: it is asked for.
CompileOptions as_allowed(CompileOptions options);

// May plans do this, going by what is allowed and what the other options provide for?
bool allows(const CompileOptions& options, Choice choice);

// What the planner gets. Points into `options` and to the control, which may be null.
PlanOptions plan_options(const CompileOptions& options, SearchControl* control = nullptr);

// The budget without what results of earlier calls take, as many as are to be held. `traced`: before
// optimisation.
std::optional<Bytes> memory_beside_held(const CompileOptions& options, const Graph& traced);

// Of one planning: all that a call of a compiled function plans shares one limit in time. None: nobody asked
// for any.
std::optional<SearchControl> control_for(const CompileOptions& options);

}  // namespace tidemark
