// Convolutions, pools and batch norms, one op at a time: the layers of ResNet-18 on 64×64 images and of U-Net
// on 128×128, and depthwise, grouped, strided and dilated ones. Prints one JSON object per row;
// bench/compare_conv.py hands the rows to PyTorch and prints both. usage: micro_conv [--threads N] [--seconds
// S per row] [--only TEXT in the row]
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tidemark/base/aligned.h"
#include "tidemark/base/parallel.h"
#include "tidemark/base/philox.h"
#include "tidemark/cpu/kernel_clock.h"
#include "tidemark/ops/convolution/conv.h"
#include "tidemark/ops/convolution/pool.h"
#include "tidemark/ops/cpu_kernels.h"
#include "tidemark/ops/cpu_target.h"
#include "tidemark/ops/normalization/batch_norm.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

// An op with its operands, results and scratch in memory, ready to run.
class Prepared {
 public:
  Prepared(const Op& op, std::vector<Type> in, Attrs attrs)
      : in_types_(std::move(in)), attrs_(std::move(attrs)) {
    Call call{.op = &op, .in = in_types_, .out = {}, .attrs = &attrs_};
    out_types_ = op.infer(call);
    call.out = out_types_;
    cost_ = cpu_target().cost(call);
    for (const Type& type : in_types_) in_.push_back(tensor(type));
    for (const Type& type : out_types_) out_.push_back(tensor(type));
    scratch_bytes_ = cpu_target().scratch(call);
    scratch_ = allocate_aligned(scratch_bytes_ + 1);
    kernel_ = find_cpu_kernel(op);
    attributes_ = kernel_->prepare(call);
  }
  const Cost& cost() const { return cost_; }
  std::int64_t scratch_bytes() const { return scratch_bytes_; }
  void run(ThreadPool& pool) const {
    kernel_->run(
        {.in = in_, .out = out_, .attributes = attributes_.get(), .scratch = scratch_.get(), .pool = &pool});
  }

 private:
  TensorRef tensor(const Type& type) {
    memory_.push_back(allocate_aligned(type.bytes()));
    std::byte* data = memory_.back().get();
    const std::int64_t count = type.count();
    for (std::int64_t i = 0; i < count; ++i) {
      const double value = 0.5 + unit_float(Philox{7}(static_cast<std::uint64_t>(i))[0]);
      write_element(type.dtype, value, data + i * size_of(type.dtype));
    }
    return {.data = data, .dtype = type.dtype, .shape = type.shape, .strides = dense_strides(type.shape)};
  }

  std::vector<Type> in_types_, out_types_;
  Attrs attrs_;
  std::vector<AlignedBytes> memory_;
  std::vector<TensorRef> in_, out_;
  std::int64_t scratch_bytes_ = 0;
  AlignedBytes scratch_;
  const CpuKernel* kernel_ = nullptr;
  std::shared_ptr<const void> attributes_;
  Cost cost_;
};

struct Bench {
  ThreadPool pool;
  double seconds;
  std::string only;

  // The shortest of many runs. `spec` is what PyTorch needs to know to do the same.
  void row(std::string_view part, std::string_view spec, const Prepared& op) {
    if (fmt::format("\"part\": \"{}\", {}", part, spec).find(only) == std::string::npos) return;
    const KernelClock clock(pool.threads()), wall(2);
    op.run(pool);
    double best = 1e30;
    const double begin = wall.now();
    do {
      const double start = clock.now();
      op.run(pool);
      best = std::min(best, clock.now() - start);
    } while (wall.now() - begin < seconds);
    fmt::print(
        "{{\"part\": \"{}\", {}, \"seconds\": {:.9f}, \"flops\": {:.0f}, \"bytes\": {:.0f}, \"scratch\": "
        "{}}}\n",
        part, spec, best, op.cost().flops, op.cost().bytes, op.scratch_bytes());
    std::fflush(stdout);
  }

  void convolution(const Shape& x, const Shape& w, std::int64_t stride, std::int64_t padding,
                   std::int64_t groups = 1, std::int64_t dilation = 1, DType dtype = DType::f32) {
    const ConvAttrs attrs{
        {stride, stride}, {padding, padding}, {padding, padding}, {dilation, dilation}, groups};
    Shape y = {x[0], w[0]};
    for (int d = 2; d < 4; ++d) y.push_back((x[d] + 2 * padding - dilation * (w[d] - 1) - 1) / stride + 1);
    const std::string spec = fmt::format(
        "\"op\": \"conv\", \"dtype\": \"{}\", \"x\": [{}], \"w\": [{}], \"stride\": {}, \"padding\": {}, "
        "\"groups\": {}, "
        "\"dilation\": {}",
        name_of(dtype), fmt::join(x, ", "), fmt::join(w, ", "), stride, padding, groups, dilation);
    const Type tx{dtype, x}, tw{dtype, w}, ty{dtype, y};
    const auto grad = [&](const Dims& size) {
      return pack(ConvGradAttrs{attrs.stride, attrs.low, attrs.high, attrs.dilation, groups, size});
    };
    row("forward", spec, {op::conv, {tx, tw}, pack(attrs)});
    row("input gradient", spec, {op::conv_input_grad, {ty, tw}, grad({x[2], x[3]})});
    row("weight gradient", spec, {op::conv_weight_grad, {tx, ty}, grad({w[2], w[3]})});
  }

  void pool_of(const Op& op, std::string_view name, const Shape& x, std::int64_t window, std::int64_t stride,
               std::int64_t padding) {
    const PoolAttrs attrs{{window, window}, {stride, stride}, {padding, padding}, {padding, padding}};
    const std::string spec = fmt::format(
        "\"op\": \"{}\", \"dtype\": \"f32\", \"x\": [{}], \"window\": {}, \"stride\": {}, \"padding\": {}",
        name, fmt::join(x, ", "), window, stride, padding);
    row("forward", spec, {op, {{DType::f32, x}}, pack(attrs)});
    if (&op != &op::avg_pool) return;
    Shape y = {x[0], x[1]};
    for (int d = 2; d < 4; ++d) y.push_back((x[d] + 2 * padding - window) / stride + 1);
    const PoolGradAttrs grad{attrs.window, attrs.stride, attrs.low, attrs.high, {x[2], x[3]}};
    row("input gradient", spec, {op::avg_pool_grad, {{DType::f32, y}}, pack(grad)});
  }

  void norm(const Shape& x) {
    const Type tx{DType::f32, x}, tc{DType::f32, {x[1]}};
    const Attrs attrs = pack(BatchNormAttrs{});
    const std::string spec =
        fmt::format("\"op\": \"batch_norm\", \"dtype\": \"f32\", \"x\": [{}]", fmt::join(x, ", "));
    row("forward", spec, {op::batch_norm, {tx, tc, tc}, attrs});
    row("input gradient", spec, {op::batch_norm_grad, {tx, tc, tc, tc, tx}, attrs});
    row("weight gradient", spec, {op::batch_norm_params, {tx, tc, tc, tx}, attrs});
  }
};

}  // namespace
}  // namespace tidemark

int main(int argc, char** argv) {
  int threads = 0;
  double seconds = 0.1;
  std::string only;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!std::strcmp(argv[i], "--threads")) threads = std::atoi(argv[i + 1]);
    if (!std::strcmp(argv[i], "--seconds")) seconds = std::atof(argv[i + 1]);
    if (!std::strcmp(argv[i], "--only")) only = argv[i + 1];
  }
  using namespace tidemark;
  Bench bench{ThreadPool(threads), seconds, only};
  bench.convolution({16, 3, 64, 64}, {64, 3, 7, 7}, 2, 3);  // ResNet-18
  bench.convolution({16, 64, 16, 16}, {64, 64, 3, 3}, 1, 1);
  bench.convolution({16, 64, 16, 16}, {128, 64, 3, 3}, 2, 1);
  bench.convolution({16, 64, 16, 16}, {128, 64, 1, 1}, 2, 0);
  bench.convolution({16, 128, 8, 8}, {128, 128, 3, 3}, 1, 1);
  bench.convolution({16, 256, 4, 4}, {256, 256, 3, 3}, 1, 1);
  bench.convolution({16, 512, 2, 2}, {512, 512, 3, 3}, 1, 1);
  bench.convolution({4, 64, 128, 128}, {64, 64, 3, 3}, 1, 1);  // U-Net
  bench.convolution({4, 256, 32, 32}, {256, 256, 3, 3}, 1, 1);
  bench.convolution({4, 64, 128, 128}, {128, 64, 2, 2}, 2, 0);
  bench.convolution({8, 256, 14, 14}, {512, 256, 1, 1}, 1, 0);  // others
  bench.convolution({8, 64, 56, 56}, {64, 64, 3, 3}, 1, 2, 1, 2);
  bench.convolution({8, 128, 28, 28}, {128, 16, 3, 3}, 1, 1, 8);
  bench.convolution({8, 64, 56, 56}, {64, 64, 3, 3}, 1, 1, 1, 1, DType::bf16);
  bench.convolution({8, 128, 28, 28}, {128, 1, 3, 3}, 1, 1, 128);
  bench.convolution({8, 96, 56, 56}, {96, 1, 3, 3}, 2, 1, 96);
  bench.convolution({8, 96, 28, 28}, {96, 1, 7, 7}, 1, 3, 96);
  bench.pool_of(op::max_pool, "max_pool", {16, 64, 32, 32}, 3, 2, 1);
  bench.pool_of(op::max_pool, "max_pool", {4, 64, 128, 128}, 2, 2, 0);
  bench.pool_of(op::avg_pool, "avg_pool", {4, 64, 128, 128}, 2, 2, 0);
  bench.pool_of(op::avg_pool, "avg_pool", {8, 64, 56, 56}, 3, 1, 1);
  bench.norm({16, 64, 16, 16});
  bench.norm({4, 64, 128, 128});
}
