#include "tests/support/checked_run.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "tests/support/test_target.h"
#include "tidemark/cpu/device.h"
#include "tidemark/ops/control/loop_reverse.h"
#include "tidemark/ops/registry.h"
#include "tidemark/runtime/executor.h"

namespace tidemark::testing {
namespace {

constexpr std::size_t enough_faults = 16;

// NaN in every floating-point dtype, signalling in f64 and in every other f32; and, as the second, large
// numbers that no run of small ones comes to.
constexpr std::uint64_t patterns[] = {0x7ff47fa17fa17fa1u, 0x5a6b5a6b5a6b5a6bu};

std::int64_t page_size() { return sysconf(_SC_PAGESIZE); }

// Stretches [begin, end) of addresses.
struct Stretch {
  std::byte *begin = nullptr, *end = nullptr;
  std::int64_t bytes() const { return end - begin; }
  bool meets(const Stretch& other) const { return begin < other.end && other.begin < end; }
};

// Memory between two pages that nobody may touch.
class GuardedMemory {
 public:
  GuardedMemory(std::int64_t bytes, bool at_the_end) {
    const std::int64_t page = page_size(), whole = align_up(std::max<std::int64_t>(bytes, 1), page);
    map_bytes_ = static_cast<std::size_t>(whole + 2 * page);
    map_ = static_cast<std::byte*>(
        mmap(nullptr, map_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    TM_CHECK(map_ != MAP_FAILED);
    madvise(map_, map_bytes_, MADV_NOHUGEPAGE);
    TM_CHECK(mprotect(map_, static_cast<std::size_t>(page), PROT_NONE) == 0);
    TM_CHECK(mprotect(map_ + page + whole, static_cast<std::size_t>(page), PROT_NONE) == 0);
    pages = {map_ + page, map_ + page + whole};
    // Arenas are multiples of buffer_alignment. Inputs are not: they are aligned to their elements only.
    base = at_the_end ? pages.end - bytes : pages.begin;
  }
  ~GuardedMemory() { munmap(map_, map_bytes_); }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  Stretch pages;  // those that may be touched
  std::byte* base = nullptr;

 private:
  std::byte* map_ = nullptr;
  std::size_t map_bytes_ = 0;
};

void fill(const Stretch& stretch, std::uint64_t pattern) {
  // By address, so that every stretch of a fill looks alike wherever it begins.
  for (std::byte* p = stretch.begin; p < stretch.end; ++p)
    *p = static_cast<std::byte>(pattern >> (8 * (reinterpret_cast<std::uintptr_t>(p) % 8)));
}

Stretch stretch_of(const TensorRef& ref) {
  if (ref.count() == 0) return {ref.data, ref.data};
  const std::int64_t size = size_of(ref.dtype);
  Stretch stretch{ref.data, ref.data + size};
  for (int i = 0; i < ref.shape.rank(); ++i) {
    const std::int64_t reach = (ref.shape[i] - 1) * ref.strides[i] * size;
    (reach < 0 ? stretch.begin : stretch.end) += reach;
  }
  return stretch;
}

// A launch of a plan, in the order in which an executor asks the device for them.
struct Site {
  const Plan* plan;
  std::size_t first, last;  // steps
  std::int64_t base;        // of the plan's arena, in the whole arena
  std::string name;
};

void add_sites(const Graph& graph, const Plan& plan, std::int64_t base, const std::string& within,
               std::vector<Site>& sites) {
  for (std::size_t t = 0; t < plan.steps.size();) {
    const std::size_t end = group_end(plan, t);
    const Step& step = plan.steps[t];
    const Node& node = graph[step.node];
    const std::string name = fmt::format("{}step {} ({})", within, t, node.op->name);
    if (!node.regions.empty()) {
      const std::int64_t inside = base + (step.scratch.valid() ? plan.buffers[step.scratch.index].offset : 0);
      const NodePlans& body = *std::ranges::find(plan.bodies, step.node, &NodePlans::node);
      for (std::size_t r = 0; r < node.regions.size(); ++r)
        add_sites(node.regions[r], body.regions[r], inside, fmt::format("{}, region {}, ", name, r), sites);
    }
    sites.push_back({&plan, t, end, base, name});
    t = end;
  }
}

class CheckedDevice final : public CpuDevice {
 public:
  CheckedDevice(const Graph& graph, const Plan& plan, const CheckedOptions& options)
      : CpuDevice(options.threads), options_(options), pattern_(patterns[options.second_pattern]) {
    add_sites(graph, plan, 0, "", sites_);
    run.written.assign(static_cast<std::size_t>(plan.arena_bytes), false);
  }

  CpuLaunch prepare_call(const Call& call) const override { return watched(CpuDevice::prepare_call(call)); }
  CpuLaunch prepare_group(std::span<const GroupStep> steps) const override {
    return watched(CpuDevice::prepare_group(steps));
  }
  Address allocate(int, std::int64_t bytes) override {
    TM_CHECK(!arena_, "one arena");
    arena_ = std::make_unique<GuardedMemory>(bytes, !options_.second_pattern);
    arena_bytes_ = bytes;
    memory_.push_back({arena_->base, arena_->base + bytes});
    fill(arena_->pages, pattern_);
    return host_address(arena_->base);
  }
  void release(int, Address, std::int64_t) noexcept override {}

  // Memory of the caller's, of which launches may change what the plan writes there.
  std::byte* add_input(const std::vector<std::byte>& bytes) {
    const auto count = static_cast<std::int64_t>(bytes.size());
    inputs_.push_back(std::make_unique<GuardedMemory>(count, !options_.second_pattern));
    std::byte* const base = inputs_.back()->base;
    fill(inputs_.back()->pages, pattern_);
    if (count > 0) std::memcpy(base, bytes.data(), bytes.size());
    memory_.push_back(inputs_.back()->pages);
    return base;
  }

  mutable CheckedRun run;

 private:
  struct Watched {
    const CheckedDevice* device;
    const Site* site;
    CpuLaunch launch;
  };

  CpuLaunch watched(CpuLaunch launch) const {
    TM_CHECK(next_ < sites_.size(), "more launches than steps");
    return {[](const KernelArgs& args) {
              const Watched& w = args.attrs<Watched>();
              w.device->check(*w.site, w.launch, args);
            },
            std::make_shared<const Watched>(Watched{this, &sites_[next_++], std::move(launch)})};
  }

  void check(const Site& site, const CpuLaunch& launch, const KernelArgs& args) const {
    ++run.launches;
    std::vector<Stretch> may_change;
    for (const TensorRef& out : args.out) may_change.push_back(stretch_of(out));
    poison(site, args, may_change);
    std::vector<std::vector<std::byte>> before;  // bodies run inside: each launch has its own
    for (const Stretch& memory : memory_) before.emplace_back(memory.begin, memory.end);
    KernelArgs inner = args;
    inner.attributes = launch.attributes.get();
    launch.run(inner);
    for (std::size_t m = 0; m < memory_.size(); ++m) compare(site, memory_[m], before[m], may_change, m == 0);
  }

  // Adds the scratch to what may change.
  void poison(const Site& site, const KernelArgs& args, std::vector<Stretch>& may_change) const {
    const Plan& plan = *site.plan;
    if (arena_ && plan.arena_bytes > 0) {
      std::byte* const base = arena_->base + site.base;
      std::vector<Stretch> alive;
      for (const Buffer& b : plan.buffers) {
        const bool lives = b.begin < static_cast<std::int32_t>(site.first) &&
                           b.end > static_cast<std::int32_t>(site.first) && b.binding == Binding::arena;
        if (lives && b.bytes > 0) alive.push_back({base + b.offset, base + b.offset + b.bytes});
      }
      std::ranges::sort(alive, {}, &Stretch::begin);
      std::byte* at = base;
      for (const Stretch& s : alive) {
        fill({at, s.begin}, pattern_);
        at = std::max(at, s.end);
      }
      fill({at, base + plan.arena_bytes}, pattern_);
      for (std::size_t t = site.first; t < site.last; ++t) {
        if (!plan.steps[t].scratch.valid()) continue;
        const Buffer& b = plan.buffers[plan.steps[t].scratch.index];
        may_change.push_back({base + b.offset, base + b.offset + b.bytes});
      }
    }
    // Results in memory that a caller named.
    for (const TensorRef& out : args.out) {
      const Stretch result = stretch_of(out);
      const auto meets = [&](const TensorRef& in) { return stretch_of(in).meets(result); };
      if (std::ranges::none_of(args.in, meets)) fill(result, pattern_);
    }
  }

  void compare(const Site& site, const Stretch& memory, const std::vector<std::byte>& before,
               const std::vector<Stretch>& may_change, bool is_arena) const {
    constexpr std::int64_t block = 64;
    for (std::int64_t i = 0; i < memory.bytes(); i += block) {
      const std::int64_t count = std::min(block, memory.bytes() - i);
      if (std::memcmp(memory.begin + i, before.data() + i, static_cast<std::size_t>(count)) == 0) continue;
      for (std::int64_t k = i; k < i + count; ++k) {
        std::byte* const p = memory.begin + k;
        if (*p == before[static_cast<std::size_t>(k)]) continue;
        if (is_arena && arena_) run.written[static_cast<std::size_t>(k)] = true;
        const auto holds = [&](const Stretch& s) { return s.begin <= p && p < s.end; };
        if (std::ranges::any_of(may_change, holds) || run.faults.size() >= enough_faults) continue;
        run.faults.push_back(fmt::format("{} wrote byte {} of {}", site.name, k,
                                         is_arena && arena_ ? "the arena" : "an input's memory"));
      }
    }
  }

  const CheckedOptions options_;
  const std::uint64_t pattern_;
  std::vector<Site> sites_;
  mutable std::size_t next_ = 0;
  std::unique_ptr<GuardedMemory> arena_;
  std::vector<std::unique_ptr<GuardedMemory>> inputs_;
  std::vector<Stretch> memory_;  // the arena first, where there is one
  std::int64_t arena_bytes_ = 0;
};

// For runs of which the operating system says what they touched.
class PagedDevice final : public CpuDevice {
 public:
  explicit PagedDevice(int threads) : CpuDevice(threads) {}
  Address allocate(int, std::int64_t bytes) override {
    memory_ = std::make_unique<GuardedMemory>(bytes, false);
    return host_address(memory_->base);
  }
  void release(int, Address, std::int64_t) noexcept override {}

  std::vector<bool> touched() const {
    if (!memory_) return {};
    std::vector<unsigned char> resident(static_cast<std::size_t>(memory_->pages.bytes() / page_size()));
    TM_CHECK(mincore(memory_->pages.begin, static_cast<std::size_t>(memory_->pages.bytes()),
                     resident.data()) == 0);
    std::vector<bool> pages;
    for (unsigned char r : resident) pages.push_back(r & 1);
    return pages;
  }

 private:
  std::unique_ptr<GuardedMemory> memory_;
};

std::vector<std::vector<std::byte>> outputs_of(const Graph& graph, const Plan& plan, const Arena& arena,
                                               const std::vector<std::byte*>& inputs) {
  std::vector<std::vector<std::byte>> outputs;
  for (const Ref& ref : plan.outputs) {
    const Buffer& buffer = plan.buffers[ref.buffer.index];
    const std::byte* at = (buffer.binding == Binding::argument ? inputs[static_cast<std::size_t>(buffer.slot)]
                                                               : host_pointer(arena.base() + buffer.offset)) +
                          ref.offset;
    outputs.emplace_back(at, at + graph.type(ref.value).bytes());
  }
  return outputs;
}

}  // namespace

CheckedRun run_checked(const Graph& graph, const Plan& plan,
                       const std::vector<std::vector<std::byte>>& inputs, const CheckedOptions& options) {
  CheckedDevice device(graph, options.watched ? *options.watched : plan, options);
  Arena arena(device, plan.arena_bytes);
  Executor executor(graph, verified(graph, plan, test_target()), device, arena);
  std::vector<std::byte*> memory;
  for (const std::vector<std::byte>& input : inputs) memory.push_back(device.add_input(input));
  executor.run(host_addresses(memory));
  device.run.outputs = outputs_of(graph, plan, arena, memory);
  return std::move(device.run);
}

PlainRun run_plain(const Graph& graph, const Plan& plan, const std::vector<std::vector<std::byte>>& inputs,
                   int threads) {
  PagedDevice device(threads);
  Arena arena(device, plan.arena_bytes);
  Executor executor(graph, verified(graph, plan, test_target()), device, arena);
  std::vector<std::unique_ptr<GuardedMemory>> held;
  std::vector<std::byte*> memory;
  for (const std::vector<std::byte>& input : inputs) {
    held.push_back(std::make_unique<GuardedMemory>(static_cast<std::int64_t>(input.size()), true));
    if (!input.empty()) std::memcpy(held.back()->base, input.data(), input.size());
    memory.push_back(held.back()->base);
  }
  executor.run(host_addresses(memory));
  return {outputs_of(graph, plan, arena, memory), device.touched(), page_size()};
}

namespace {

void mark(const Graph& graph, const Plan& plan, std::int64_t base, PlannedBytes& bytes) {
  const auto set = [&](std::vector<bool>& which, std::int64_t begin, std::int64_t count) {
    std::fill_n(which.begin() + static_cast<std::ptrdiff_t>(base + begin), count, true);
  };
  for (const Step& step : plan.steps) {
    const Node& node = graph[step.node];
    // A loop of unknown length has slots for more states than it may come to.
    const bool all_written = node.op != &op::while_loop && node.op != &op::loop_reverse;
    for (const Ref& out : step.out) {
      const Buffer& buffer = plan.buffers[out.buffer.index];
      if (buffer.binding == Binding::arena)
        set(all_written ? bytes.values : bytes.scratch, buffer.offset + out.offset,
            graph.type(out.value).bytes());
    }
    if (!step.scratch.valid()) continue;
    const Buffer& scratch = plan.buffers[step.scratch.index];
    set(bytes.scratch, scratch.offset, scratch.bytes);
    if (node.regions.empty()) continue;
    const NodePlans& body = *std::ranges::find(plan.bodies, step.node, &NodePlans::node);
    for (std::size_t r = 0; r < node.regions.size(); ++r) {
      // A branch or a loop may not run: what its body writes counts as scratch.
      PlannedBytes inside{std::vector<bool>(bytes.values.size()), std::vector<bool>(bytes.values.size())};
      mark(node.regions[r], body.regions[r], base + scratch.offset, inside);
      for (std::size_t i = 0; i < inside.values.size(); ++i)
        bytes.scratch[i] = bytes.scratch[i] || inside.values[i] || inside.scratch[i];
    }
  }
}

}  // namespace

PlannedBytes planned_bytes(const Graph& graph, const Plan& plan) {
  const auto count = static_cast<std::size_t>(plan.arena_bytes);
  PlannedBytes bytes{std::vector<bool>(count), std::vector<bool>(count)};
  mark(graph, plan, 0, bytes);
  return bytes;
}

}  // namespace tidemark::testing
