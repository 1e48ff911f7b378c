#include "tests/op_laws/law_case.h"

#include <cstring>

#include "tidemark/base/aligned.h"
#include "tidemark/cpu/kernels.h"

namespace tidemark::testing {
namespace {

constexpr std::int64_t guard_bytes = 256;
constexpr std::byte guard_value{0xC5};

// Memory with guards before and after.
class Guarded {
 public:
  Guarded(std::int64_t bytes, std::byte fill)
      : bytes_(bytes), memory_(allocate_aligned(bytes + 2 * guard_bytes)) {
    std::memset(memory_.get(), static_cast<int>(guard_value),
                static_cast<std::size_t>(bytes + 2 * guard_bytes));
    std::memset(data(), static_cast<int>(fill), static_cast<std::size_t>(bytes));
  }
  std::byte* data() const { return memory_.get() + guard_bytes; }
  bool intact() const {
    for (std::int64_t i = 0; i < guard_bytes; ++i) {
      if (memory_[static_cast<std::size_t>(i)] != guard_value) return false;
      if (data()[bytes_ + i] != guard_value) return false;
    }
    return true;
  }

 private:
  std::int64_t bytes_;
  AlignedBytes memory_;
};

KernelRun run(const LawCase& law, const std::vector<Literal>& operands, const std::vector<Strides>& strides,
              std::byte fill, int threads, int in_place_result, int in_place_operand) {
  const Graph graph = law.graph();
  const Node& node = graph.nodes().front();
  NodeCall call(graph, node);
  call.call.in_strides = strides;
  std::vector<Guarded> in_memory, out_memory;
  std::vector<TensorRef> in, out;
  for (std::size_t o = 0; o < operands.size(); ++o) {
    const Type& type = call.in[o];
    const std::int64_t size = size_of(type.dtype);
    // The span of positions the strides reach, from the lowest to the highest.
    std::int64_t low = 0, high = 0;
    for (int d = 0; d < type.rank(); ++d) {
      const std::int64_t reach = strides[o][d] * std::max<std::int64_t>(type.shape[d] - 1, 0);
      (reach < 0 ? low : high) += reach;
    }
    in_memory.emplace_back((high - low + 1) * size, fill);
    std::byte* first = in_memory.back().data() - low * size;
    for (std::int64_t i = 0; i < type.count(); ++i) {
      std::int64_t rest = i, at = 0;
      for (int d = type.rank() - 1; d >= 0; --d) {
        at += rest % type.shape[d] * strides[o][d];
        rest /= type.shape[d];
      }
      std::memcpy(first + at * size, operands[o].bytes.data() + i * size, static_cast<std::size_t>(size));
    }
    in.push_back({.data = first, .dtype = type.dtype, .shape = type.shape, .strides = strides[o]});
  }
  for (std::size_t r = 0; r < call.out.size(); ++r) {
    const Type& type = call.out[r];
    out_memory.emplace_back(type.bytes(), fill);
    std::byte* data = out_memory.back().data();
    if (static_cast<int>(r) == in_place_result) data = in[static_cast<std::size_t>(in_place_operand)].data;
    out.push_back(
        {.data = data, .dtype = type.dtype, .shape = type.shape, .strides = dense_strides(type.shape)});
  }
  const Guarded scratch(scratch_of(call), fill);
  const CpuKernel* kernel = find_cpu_kernel(*law.op);
  const std::shared_ptr<const void> attributes = kernel->prepare(call);
  ThreadPool pool(threads);
  kernel->run({.in = in,
               .out = out,
               .attributes = attributes.get(),
               .scratch = scratch.data(),
               .pool = &pool,
               .where = {}});
  KernelRun result;
  for (std::size_t r = 0; r < out.size(); ++r) {
    const Type& type = call.out[r];
    result.results.push_back({type.dtype, type.shape, {out[r].data, out[r].data + type.bytes()}});
    if (!out_memory[r].intact()) result.broken = fmt::format("result {}", r);
  }
  for (std::size_t o = 0; o < in.size(); ++o) {
    if (!in_memory[o].intact()) result.broken = fmt::format("operand {}", o);
  }
  if (!scratch.intact()) result.broken = "scratch";
  return result;
}

std::vector<Strides> all_dense(const LawCase& law) {
  std::vector<Strides> strides;
  for (const Type& type : law.types()) strides.push_back(dense_strides(type.shape));
  return strides;
}

}  // namespace

std::vector<Type> LawCase::types() const {
  std::vector<Type> list;
  for (const Sample::Operand& operand : sample.in) list.push_back(operand.type);
  return list;
}

std::vector<Literal> LawCase::operands(std::uint64_t seed) const {
  std::vector<Literal> list;
  for (const Sample::Operand& operand : sample.in) list.push_back(draw(operand, seed * 1000 + list.size()));
  return list;
}

Graph LawCase::graph() const {
  Graph graph;
  Builder builder(graph);
  std::vector<Var> in;
  for (const Type& type : types()) in.push_back(builder.input(type));
  for (const Var& result : builder.call(*op, in, sample.attrs)) graph.add_output(result.id());
  return graph;
}

std::string LawCase::name() const {
  std::string text = fmt::format("{} sample {} {}:", op->name, index, name_of(dtype));
  for (const Type& type : types()) text += " " + to_string(type);
  return text;
}

std::vector<LawCase> cases_of(const Op& op) {
  std::vector<LawCase> list;
  if (!op.samples) return list;
  const std::vector<Sample> samples = op.samples();
  for (std::size_t s = 0; s < samples.size(); ++s) {
    bool recast = false;
    for (const Sample::Operand& operand : samples[s].in) recast = recast || operand.type.dtype == DType::f64;
    for (int t = 0; t < dtype_count; ++t) {
      const DType dtype = static_cast<DType>(t);
      if (recast ? !op.dtypes.contains(dtype) : t != 0) continue;
      LawCase law{&op, samples[s], recast ? dtype : DType::f64, s};
      for (Sample::Operand& operand : law.sample.in) {
        if (operand.type.dtype == DType::f64) operand.type.dtype = dtype;
      }
      list.push_back(std::move(law));
    }
  }
  return list;
}

std::vector<LawCase> smooth_cases_of(const Op& op) {
  std::vector<LawCase> list;
  if (op.derivative != Derivative::rule) return list;
  for (LawCase& law : cases_of(op)) {
    if (!law.sample.smooth || law.dtype != DType::f64) continue;
    bool float_in = false, float_out = false;
    const Graph graph = law.graph();
    for (const Type& type : law.types()) float_in = float_in || type.dtype == DType::f64;
    for (ValueId v : graph.outputs()) float_out = float_out || graph.type(v).dtype == DType::f64;
    if (float_in && float_out) list.push_back(std::move(law));
  }
  return list;
}

KernelRun run_kernel(const LawCase& law, const std::vector<Literal>& operands, std::byte fill, int threads,
                     int in_place_result, int in_place_operand) {
  return run(law, operands, all_dense(law), fill, threads, in_place_result, in_place_operand);
}

KernelRun run_kernel_strided(const LawCase& law, const std::vector<Literal>& operands, int strided,
                             bool backwards) {
  std::vector<Strides> strides = all_dense(law);
  for (std::int64_t& stride : strides[static_cast<std::size_t>(strided)]) stride *= backwards ? -3 : 2;
  return run(law, operands, strides, std::byte{0}, 2, -1, -1);
}

}  // namespace tidemark::testing
