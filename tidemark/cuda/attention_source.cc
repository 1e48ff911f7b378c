#include "tidemark/cuda/attention_source.h"

#include <fmt/format.h>

#include <bit>
#include <numbers>

#include "tidemark/cuda/calls/family.h"
#include "tidemark/cuda/device/attention_sizes.h"
#include "tidemark/cuda/element_code.h"
#include "tidemark/ops/attention/attention.h"
#include "tidemark/ops/random/random.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark::cuda {
namespace {

constexpr std::int64_t most_rows = std::int64_t{1} << 30;               // kernels number them with 32 bits
constexpr std::int64_t most_grid_blocks = (std::int64_t{1} << 31) - 1;  // of a launch
constexpr std::int64_t most_shared = 216 << 10;  // memory that the blocks on one processor share, on 9.0

// What the compiler defines for a GPU that has products of warpgroups.
constexpr std::string_view warpgroups_defined = "__CUDA_ARCH_FEAT_SM90_ALL";

enum class Method { matrices, tiles, rows };

Method method_of(DType dtype, std::int64_t width) {
  if (width == 0) return Method::rows;
  if (size_of(dtype) == 2 && width <= MatrixSizes::widest) return Method::matrices;
  if (dtype == DType::f32 && width <= TileSizes::widest) return Method::tiles;
  return Method::rows;
}

std::int64_t blocks_of(std::int64_t rows, std::int64_t block) { return (rows + block - 1) / block; }

// A number of the type that computes, bit by bit.
std::string number(DType dtype, double x) {
  if (dtype == DType::f64)
    return fmt::format("std::bit_cast<double>(0x{:016x}ull)", std::bit_cast<std::uint64_t>(x));
  return fmt::format("std::bit_cast<float>(0x{:08x}u)", std::bit_cast<std::uint32_t>(static_cast<float>(x)));
}

class AttentionWriter {
 public:
  AttentionWriter(const Call& call, std::string_view name)
      : call_(call),
        name_(name),
        form_(attention_form(call)),
        dtype_(call.in[0].dtype),
        method_(method_of(dtype_, form_.width)) {}

  KernelText write() {
    kernel_.operands = static_cast<int>(call_.in.size());
    const bool gradient = call_.op == &op::attention_grad;
    kernel_.results = gradient ? 3 : 2;
    line("#include \"tidemark/cuda/device/{}.h\"", text_name(gradient));
    if (has_warpgroup_kernels()) {
      line("#ifdef {}\n#include \"tidemark/cuda/device/{}.h\"\n#endif", warpgroups_defined,
           gradient ? "attention_wgmma_grad" : "attention_wgmma");
    }
    line("");
    line("namespace tidemark::cuda {{\n");
    write_form(gradient);
    const auto width = static_cast<int>(form_.width);
    const std::int64_t heads = form_.batch * form_.heads, kv_heads = form_.batch * form_.kv_heads;
    if (!gradient) {
      const ForwardSizes matrices{{width}};
      const TileSizes tiles{width, false};
      add("", "attention", heads, form_.queries, matrices.queries(), matrices.shared_bytes(), tiles);
    } else {
      const KeyGradientSizes of_keys{{width}};
      const QueryGradientSizes of_queries{{width}};
      const TileSizes tiles{width, true};
      add("_keys", "attention_grad_of_key", kv_heads, form_.keys, of_keys.keys(), of_keys.shared_bytes(),
          tiles, of_keys.column_blocks());
      add("_queries", "attention_grad_of_query", heads, form_.queries, of_queries.queries(),
          of_queries.shared_bytes(), tiles);
    }
    line("}}  // namespace tidemark::cuda");
    return std::move(kernel_);
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(kernel_.source), format, std::forward<Args>(args)...);
    kernel_.source += '\n';
  }

  std::string_view text_name(bool gradient) const {
    switch (method_) {
      case Method::matrices:
        return gradient ? "attention_mma_grad" : "attention_mma";
      case Method::tiles:
        return "attention_tiles";
      default:
        return "attention_rows";
    }
  }

  void write_steps(std::string_view operand, int number) {
    const Strides strides = operand_strides(call_, number);
    line("  static constexpr long long {0}_batch = {1}, {0}_head = {2}, {0}_row = {3}, {0}_column = {4};",
         operand, strides[0], strides[1], strides[2], strides[3]);
  }

  void write_form(bool gradient) {
    const DType compute = dtype_ == DType::f64 ? DType::f64 : DType::f32;
    line("struct {}_form {{", name_);
    line("  using Pointers = GroupPointers<{}, {}>;", kernel_.operands, kernel_.results);
    line("  using Element = {};\n  using Compute = {};", storage_type(dtype_), storage_type(compute));
    line("  static constexpr int heads = {}, kv_heads = {}, group = {}, queries = {}, keys = {}, width = {};",
         form_.heads, form_.kv_heads, form_.group(), form_.queries, form_.keys, form_.width);
    line("  static constexpr bool causal = {};", form_.causal);
    line("  static constexpr Compute scale = {},\n                           scale_log2 = {};",
         number(compute, form_.scale), number(compute, form_.scale * std::numbers::log2e));
    write_steps("q", 0);
    write_steps("k", 1);
    write_steps("v", 2);
    if (gradient) write_steps("g", 5);
    line("  static constexpr int mask = {}, key = {};  // operands", form_.mask, form_.key);
    if (form_.mask >= 0) write_mask();
    if (form_.key >= 0) {
      const BernoulliDraw draw = bernoulli_draw(1 - form_.dropout);
      line("  static constexpr unsigned long long stream = {}u, threshold = {}u;", draw.stream,
           draw.threshold);
      line("  static constexpr Compute kept = {};", number(compute, 1 / (1 - form_.dropout)));
    }
    line("}};\n");
  }

  void write_mask() {
    const Shape& shape = call_.in[static_cast<std::size_t>(form_.mask)].shape;
    const Strides strides = operand_strides(call_, form_.mask);
    std::int64_t step[4] = {};
    for (int k = 1; k <= shape.rank(); ++k) {
      if (shape[shape.rank() - k] != 1) step[4 - k] = strides[shape.rank() - k];
    }
    line("  static constexpr long long mask_batch = {}, mask_head = {}, mask_query = {}, mask_key = {};",
         step[0], step[1], step[2], step[3]);
  }

  // A kernel that makes `rows` rows of each of `heads` heads, `block` of them in a block of threads on tensor
  // cores.
  void add(std::string_view suffix, std::string_view body, std::int64_t heads, std::int64_t rows, int block,
           std::int64_t shared_bytes, const TileSizes& tiles, int column_blocks = 1) {
    KernelLaunch launch{.kernel = fmt::format("{}{}", name_, suffix), .meets = true};
    std::string function(body);
    switch (method_) {
      case Method::matrices:
        launch.blocks = heads * blocks_of(rows, block) * column_blocks;
        launch.threads = MatrixSizes::threads;
        launch.shared_bytes = shared_bytes;
        function += "_mma";
        break;
      case Method::tiles:
        launch.blocks = heads * blocks_of(rows, tiles.rows());
        launch.threads = TileSizes::threads;
        launch.shared_bytes = tiles.shared_bytes();
        function += "_tiles";
        break;
      default:
        launch.blocks = heads * rows;
        launch.threads = RowSizes::threads;
        function += "_rows";
        break;
    }
    if (launch.blocks == 0) return;
    // Blocks of threads on a processor at a time, which bounds their registers.
    const int resident = 2 * launch.shared_bytes <= most_shared ? 2 : 1;
    if (has_warpgroup_kernels()) {
      KernelLaunch on_90 = launch;
      on_90.blocks = heads * blocks_of(rows, WarpgroupSizes::rows);
      on_90.threads = WarpgroupSizes::threads;
      on_90.shared_bytes = WarpgroupSizes::shared_bytes;
      line("#ifdef {}", warpgroups_defined);
      define(on_90, 1, fmt::format("{}_wgmma", body));
      line("#else");
      define(launch, resident, function);
      line("#endif");
      kernel_.launches_on_90.push_back(std::move(on_90));
    } else {
      define(launch, resident, function);
    }
    kernel_.launches.push_back(std::move(launch));
  }
  void define(const KernelLaunch& launch, int resident, std::string_view function) {
    line("{}", define_kernel(fmt::format("{}, {}", launch.threads, resident), launch.kernel,
                             fmt::format("{}_form::Pointers", name_),
                             fmt::format("{}<{}_form>(at);", function, name_)));
  }

  // On 9.0: heads of the usual width, without options that cost registers.
  bool has_warpgroup_kernels() const {
    return method_ == Method::matrices && form_.width == WarpgroupSizes::width && form_.mask < 0 &&
           form_.key < 0;
  }

  const Call& call_;
  std::string name_;
  AttentionForm form_;
  DType dtype_;
  Method method_;
  KernelText kernel_;
};

}  // namespace

bool has_attention_kernel(const Call& call) {
  if (call.op != &op::attention && call.op != &op::attention_grad) return false;
  const AttentionForm form = attention_form(call);
  const std::int64_t heads = form.batch * form.heads, kv_heads = form.batch * form.kv_heads;
  // What a method needs at most: a block of threads for each row.
  return form.queries < most_rows && form.keys < most_rows && heads < most_rows && kv_heads < most_rows &&
         heads * form.queries <= most_grid_blocks && kv_heads * form.keys <= most_grid_blocks;
}

// Sums stay in registers and in the memory of blocks of threads.
std::int64_t attention_scratch(const Call&) { return 0; }

bool attention_takes_strides(const Call& call, int operand) {
  if (call.op == &op::attention_grad && operand == 5) return true;
  return operand < 3 || operand == attention_form(call).mask;
}

KernelText write_attention(const Call& call, std::string_view name) {
  return AttentionWriter(call, name).write();
}

std::span<const CallRow> attention_calls() {
  static constexpr CallFamily family{.write = write_attention,
                                     .scratch = attention_scratch,
                                     .can = has_attention_kernel,
                                     .takes_strides = attention_takes_strides};
  static const CallRow rows[] = {{&op::attention, family}, {&op::attention_grad, family}};
  return rows;
}

}  // namespace tidemark::cuda
