// Matrix products and convolutions in GFLOP/s with 1 and 2 threads, next to one plain single-threaded
// cblas_sgemm of the same size (for convolutions: of the equivalent product). usage: micro_contract [seconds
// per figure, default 0.2]
//
// bench/peers/torch_contract.py prints PyTorch's figures for the same products.
//
// One thread is timed by the CPU time of the calling thread, so that a busy machine does not spoil the
// comparison.
#include <cblas.h>
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "tidemark/base/aligned.h"
#include "tidemark/base/parallel.h"
#include "tidemark/base/philox.h"
#include "tidemark/ops/contraction/contract.h"
#include "tidemark/ops/convolution/conv.h"
#include "tidemark/ops/cpu_kernels.h"
#include "tidemark/ops/cpu_target.h"
#include "tidemark/ops/registry.h"

namespace tidemark {
namespace {

double now(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// The shortest of many runs.
double shortest(double seconds, clockid_t clock, const std::function<void()>& f) {
  f();
  double best = 1e30;
  const double begin = now(CLOCK_MONOTONIC);
  do {
    const double start = now(clock);
    f();
    best = std::min(best, now(clock) - start);
  } while (now(CLOCK_MONOTONIC) - begin < seconds);
  return best;
}

// An op with its operands, result and scratch in memory, ready to run.
class Prepared {
 public:
  Prepared(const Op& op, std::vector<Type> in, Attrs attrs)
      : in_types_(std::move(in)), attrs_(std::move(attrs)) {
    Call call{.op = &op, .in = in_types_, .out = {}, .attrs = &attrs_};
    const Type out = op.infer(call).front();
    call.out = {&out, 1};
    flops_ = cpu_target().cost(call).flops;
    for (std::size_t i = 0; i < in_types_.size(); ++i) in_.push_back(tensor(in_types_[i]));
    out_ = tensor(out);
    scratch_ = allocate_aligned(cpu_target().scratch(call) + 1);
    kernel_ = find_cpu_kernel(op);
    attributes_ = kernel_->prepare(call);
  }
  double flops() const { return flops_; }
  void run(ThreadPool& pool) const {
    kernel_->run({.in = in_,
                  .out = {&out_, 1},
                  .attributes = attributes_.get(),
                  .scratch = scratch_.get(),
                  .pool = &pool});
  }

 private:
  TensorRef tensor(const Type& type) {
    memory_.push_back(allocate_aligned(type.bytes()));
    dispatch_float(type.dtype, [&]<class T>() {
      auto* data = reinterpret_cast<T*>(memory_.back().get());
      for (std::int64_t i = 0; i < type.count(); ++i)
        data[i] = T(unit_float(Philox{7}(static_cast<std::uint64_t>(i))[0]) - 0.5f);
    });
    return {.data = memory_.back().get(),
            .dtype = type.dtype,
            .shape = type.shape,
            .strides = dense_strides(type.shape)};
  }

  std::vector<Type> in_types_;
  Attrs attrs_;
  std::vector<AlignedBytes> memory_;
  std::vector<TensorRef> in_;
  TensorRef out_;
  AlignedBytes scratch_;
  const CpuKernel* kernel_ = nullptr;
  std::shared_ptr<const void> attributes_;
  double flops_ = 0;
};

double plain_sgemm(double seconds, std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k) {
  openblas_set_num_threads(1);
  std::vector<float> a(static_cast<std::size_t>(m * k), 0.5f), b(static_cast<std::size_t>(k * n), 0.25f);
  std::vector<float> c(static_cast<std::size_t>(m * n));
  const auto i = [](std::int64_t x) { return static_cast<int>(x); };
  const double time = shortest(seconds, CLOCK_THREAD_CPUTIME_ID, [&] {
    for (std::int64_t q = 0; q < batch; ++q) {
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, i(m), i(n), i(k), 1, a.data(), i(k), b.data(),
                  i(n), 0, c.data(), i(n));
    }
  });
  return 2e-9 * static_cast<double>(batch * m * n * k) / time;
}

void report(const std::string& name, double seconds, double plain, const Prepared& op) {
  ThreadPool one(1), two(2);
  const double serial = 1e-9 * op.flops() / shortest(seconds, CLOCK_THREAD_CPUTIME_ID, [&] { op.run(one); });
  const double parallel = 1e-9 * op.flops() / shortest(seconds, CLOCK_MONOTONIC, [&] { op.run(two); });
  fmt::print("{:<44} {:>9.1f} {:>9.1f} {:>7.2f} {:>9.1f} {:>7.2f}\n", name, plain, serial, serial / plain,
             parallel, parallel / serial);
}

// `form`: which operands are stored transposed, as in BLAS: "NN", "TN", "NT".
void product(double seconds, std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k,
             std::string_view form = "NN", DType dtype = DType::f32) {
  const bool ta = form[0] == 'T', tb = form[1] == 'T';
  const auto shape = [&](std::int64_t rows, std::int64_t cols) {
    return batch == 1 ? Shape{rows, cols} : Shape{batch, rows, cols};
  };
  const Dims batches = batch == 1 ? Dims{} : Dims{0};
  const std::int64_t first = batch == 1 ? 0 : 1;
  const ContractAttrs attrs{batches, batches, {first + (ta ? 0 : 1)}, {first + (tb ? 1 : 0)}};
  report(fmt::format("{} {} x ({} x {}) ({} x {}) {}", dtype == DType::f32 ? "matmul" : name_of(dtype), batch,
                     m, k, k, n, form),
         seconds, plain_sgemm(seconds, batch, m, n, k),
         {op::contract,
          {{dtype, ta ? shape(k, m) : shape(m, k)}, {dtype, tb ? shape(n, k) : shape(k, n)}},
          pack(attrs)});
}

void convolution(double seconds, const Shape& x, const Shape& w, std::int64_t stride, std::int64_t padding,
                 std::int64_t groups) {
  const ConvAttrs attrs{{stride, stride}, {padding, padding}, {padding, padding}, {1, 1}, groups};
  const std::int64_t h = (x[2] + 2 * padding - w[2]) / stride + 1,
                     v = (x[3] + 2 * padding - w[3]) / stride + 1;
  const Shape y = {x[0], w[0], h, v};
  const double plain = plain_sgemm(seconds, groups, w[0] / groups, h * v, w[1] * w[2] * w[3]);
  const std::string name = fmt::format("{} {} / {} g{}", to_string(x), to_string(w), stride, groups);
  const Type tx{DType::f32, x}, tw{DType::f32, w}, ty{DType::f32, y};
  report("conv " + name, seconds, plain, {op::conv, {tx, tw}, pack(attrs)});
  const auto grad = [&](const Dims& size) {
    return pack(ConvGradAttrs{attrs.stride, attrs.low, attrs.high, attrs.dilation, groups, size});
  };
  report("  input gradient", seconds, plain, {op::conv_input_grad, {ty, tw}, grad({x[2], x[3]})});
  report("  weight gradient", seconds, plain, {op::conv_weight_grad, {tx, ty}, grad({w[2], w[3]})});
}

}  // namespace
}  // namespace tidemark

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 0.2;
  fmt::print("{:<44} {:>9} {:>9} {:>7} {:>9} {:>7}\n", "GFLOP/s", "sgemm", "1 thread", "ratio", "2 threads",
             "speedup");
  using tidemark::convolution, tidemark::product;
  for (const char* form : {"NN", "TN", "NT"}) {
    product(seconds, 1, 4096, 1536, 384, form);
    product(seconds, 1, 4096, 384, 1536, form);
    product(seconds, 1, 384, 1536, 4096, form);
  }
  product(seconds, 1, 4096, 8192, 384);
  product(seconds, 1, 1024, 1024, 1024);
  product(seconds, 1, 256, 1024, 1024);
  product(seconds, 1, 8192, 64, 64);
  product(seconds, 1, 4096, 128, 512);
  product(seconds, 1, 128, 128, 8192);
  product(seconds, 1, 16, 2048, 512);
  product(seconds, 1, 16, 512, 2048, "NT");
  product(seconds, 1, 2048, 16, 512);
  product(seconds, 1, 2048, 16, 512, "TN");
  product(seconds, 1, 24, 1000, 700);
  product(seconds, 1, 64, 3072, 768);
  product(seconds, 1, 64, 768, 3072, "NT");
  product(seconds, 1, 1, 1024, 1024);
  product(seconds, 1, 1024, 1, 1024);
  product(seconds, 256, 64, 64, 64);
  product(seconds, 1024, 16, 16, 16);
  product(seconds, 4096, 4, 4, 4);
  for (const tidemark::DType dtype : {tidemark::DType::bf16, tidemark::DType::f16}) {
    for (const char* form : {"NN", "TN", "NT"}) {
      product(seconds, 1, 4096, 1536, 384, form, dtype);
      product(seconds, 1, 384, 1536, 4096, form, dtype);
    }
    product(seconds, 1, 1024, 1024, 1024, "NN", dtype);
    product(seconds, 1, 256, 1024, 1024, "NN", dtype);
    product(seconds, 256, 64, 64, 64, "NN", dtype);
  }
  convolution(seconds, {8, 64, 56, 56}, {64, 64, 3, 3}, 1, 1, 1);
  convolution(seconds, {8, 256, 14, 14}, {256, 256, 3, 3}, 1, 1, 1);
  convolution(seconds, {8, 3, 112, 112}, {64, 3, 7, 7}, 2, 3, 1);
  convolution(seconds, {8, 256, 14, 14}, {512, 256, 1, 1}, 1, 0, 1);
  convolution(seconds, {8, 128, 28, 28}, {128, 1, 3, 3}, 1, 1, 128);
  return 0;
}
