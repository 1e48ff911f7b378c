// Kernels that work row by row, alone: attention, normalisations, softmax, losses, look-ups, functions,
// Fourier transforms, movement. One line per kernel with its name and its fastest time in ms, as
// compare_rows.py sets beside PyTorch's.
//   micro_rows [threads] [part of a name]
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tidemark/base/aligned.h"
#include "tidemark/base/stopwatch.h"
#include "tidemark/ops/attention/attention.h"
#include "tidemark/ops/cpu_kernels.h"
#include "tidemark/ops/cpu_target.h"
#include "tidemark/ops/fourier/fourier.h"
#include "tidemark/ops/indexing/index.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/normalization/cross_entropy.h"
#include "tidemark/ops/normalization/layer_norm.h"
#include "tidemark/ops/normalization/rows.h"
#include "tidemark/ops/random/random.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/scalar/cast.h"

namespace {

using namespace tidemark;
using enum DType;

struct Operand {
  Type type;
  double low = -2, high = 2;
};

// Numbers from [low, high), spread evenly; integers too.
AlignedBytes filled(const Operand& operand) {
  AlignedBytes memory = allocate_aligned(operand.type.bytes());
  dispatch(operand.type.dtype, [&]<class T>() {
    for (std::int64_t i = 0; i < operand.type.count(); ++i) {
      const double share = std::fmod(static_cast<double>(i) * 0.6180339887498949, 1.0);
      reinterpret_cast<T*>(memory.get())[i] =
          static_cast<T>(static_cast<float>(operand.low + share * (operand.high - operand.low)));
    }
  });
  return memory;
}

struct Bench {
  ThreadPool pool;
  std::string_view only;

  void run(const std::string& name, const Op& op, const std::vector<Operand>& operands,
           const Attrs& attrs = {}) {
    if (name.find(only) == std::string::npos) return;
    std::vector<Type> types;
    for (const Operand& operand : operands) types.push_back(operand.type);
    Call call{.op = &op, .in = types, .attrs = &attrs};
    const std::vector<Type> results = op.infer(call);
    call.out = results;
    const CpuKernel& kernel = *find_cpu_kernel(op);
    const auto attributes = kernel.prepare ? kernel.prepare(call) : nullptr;
    std::vector<AlignedBytes> memory;
    std::vector<TensorRef> in, out;
    const auto ref = [&](const Type& type) {
      return TensorRef{memory.back().get(), type.dtype, type.shape, dense_strides(type.shape)};
    };
    for (const Operand& operand : operands) {
      memory.push_back(filled(operand));
      in.push_back(ref(operand.type));
    }
    for (const Type& type : results) {
      memory.push_back(filled({.type = type}));
      out.push_back(ref(type));
    }
    const AlignedBytes scratch = allocate_aligned(cpu_target().scratch(call));
    double best = 1e30, spent = 0;
    for (int i = 0; i < 50 && (i < 5 || spent < 0.15); ++i) {
      const Stopwatch watch;
      kernel.run(
          {.in = in, .out = out, .attributes = attributes.get(), .scratch = scratch.get(), .pool = &pool});
      const double seconds = watch.seconds();
      best = std::min(best, seconds);
      spent += seconds;
    }
    fmt::print("{}\t{:.4f}\n", name, best * 1e3);
  }
};

void attentions(Bench& bench) {
  for (const Shape& shape : {Shape{16, 6, 256, 64}, Shape{2, 4, 2048, 64}}) {
    const Operand x{{f32, shape}, -1, 1}, row{{f32, {shape[0], shape[1], shape[2]}}, 6, 8};
    const std::string name = fmt::format("attention {} causal", to_string(shape));
    const Attrs attrs = pack(AttentionAttrs{.causal = true});
    bench.run(name, op::attention, {x, x, x}, attrs);
    bench.run(name + ", gradient", op::attention_grad, {x, x, x, row, row, x}, attrs);
    bench.run(name + ", delta", op::attention_delta, {x, x});
    const Operand key{{i64, {}}, 7, 8};
    const Attrs dropping = pack(AttentionAttrs{.causal = true, .dropout = 0.1});
    bench.run(name + ", dropout", op::attention, {x, x, x, key}, dropping);
    bench.run(name + ", dropout, gradient", op::attention_grad, {x, x, x, row, row, x, key}, dropping);
  }
}

void along_rows(Bench& bench) {
  for (std::int64_t length : {384, 8192}) {
    const Operand x{{f32, {4096, length}}}, line{{f32, {length}}}, row{{f32, {4096, 1}}, 0.5, 1};
    const Operand labels{{i64, {4096}}, 0, static_cast<double>(length)};
    const std::string of = fmt::format(" 4096x{}", length);
    const Attrs axis = pack(AxisAttrs{1}), norm = pack(LayerNormAttrs{}), loss = pack(CrossEntropyAttrs{});
    bench.run("softmax" + of, op::softmax, {x}, axis);
    bench.run("softmax gradient" + of, op::softmax_grad, {x, x}, axis);
    bench.run("log_softmax" + of, op::log_softmax, {x}, axis);
    bench.run("log_softmax gradient" + of, op::log_softmax_grad, {x, x}, axis);
    bench.run("layer_norm" + of, op::layer_norm, {x, line, line}, norm);
    bench.run("layer_norm gradient" + of, op::layer_norm_grad, {x, row, row, line, x}, norm);
    bench.run("layer_norm gain and bias" + of, op::layer_norm_params, {x, row, row, x}, norm);
    bench.run("rms_norm" + of, op::rms_norm, {x, line}, norm);
    bench.run("rms_norm gradient" + of, op::rms_norm_grad, {x, row, line, x}, norm);
    bench.run("rms_norm gain" + of, op::rms_norm_params, {x, row, x}, norm);
    bench.run("cross_entropy" + of, op::cross_entropy, {x, labels}, loss);
    bench.run("cross_entropy gradient" + of, op::cross_entropy_grad,
              {x, labels, {{f32, {4096}}, 9, 10}, {{f32, {4096}}}}, loss);
    bench.run("argmax" + of, op::argmax, {x}, axis);
  }
}

void look_ups(Bench& bench) {
  for (const auto& [rows, width, count] :
       {std::array<std::int64_t, 3>{8192, 384, 4096}, std::array<std::int64_t, 3>{65, 384, 4096},
        std::array<std::int64_t, 3>{16384, 256, 65536}}) {
    const Operand positions{{i64, {count}}, 0, static_cast<double>(rows)};
    const std::string of = fmt::format(" {} of {}x{}", count, rows, width);
    bench.run("embedding" + of, op::take, {{{f32, {rows, width}}}, positions}, pack(TakeAttrs{0}));
    bench.run("embedding gradient" + of, op::take_add, {{{f32, {count, width}}}, positions},
              pack(TakeAddAttrs{0, rows}));
  }
}

void functions(Bench& bench) {
  const Operand x{{f32, {4096, 1024}}, -4, 4}, positive{{f32, {4096, 1024}}, 0.1, 8};
  bench.run("exp 4M", op::exp, {x});
  bench.run("log 4M", op::log, {positive});
  bench.run("tanh 4M", op::tanh, {x});
  bench.run("sigmoid 4M", op::sigmoid, {x});
  bench.run("erf 4M", op::erf, {x});
  bench.run("gelu 4M", op::gelu, {x});
  bench.run("gelu slope 4M", op::gelu_slope, {x});
  bench.run("silu 4M", op::silu, {x});
  bench.run("softplus 4M", op::softplus, {x});
  for (DType t : {bf16, f16}) {
    const Operand half{{t, {4096, 4096}}};
    bench.run(fmt::format("add {} 16M", name_of(t)), op::add, {half, half});
    bench.run(fmt::format("cast {} to f32 16M", name_of(t)), op::cast, {half}, pack(CastAttrs{f32}));
    bench.run(fmt::format("cast f32 to {} 16M", name_of(t)), op::cast, {{{f32, {4096, 4096}}}},
              pack(CastAttrs{t}));
  }
}

void fourier_transforms(Bench& bench) {
  for (const auto& [rows, n] : {std::pair<std::int64_t, std::int64_t>{4096, 16},
                                {512, 128},
                                {128, 210},
                                {128, 97},
                                {64, 1000},
                                {64, 1009},
                                {64, 1024},
                                {16, 4096},
                                {1, 1024},
                                {1, 65536},
                                {1, 1 << 20}}) {
    for (DType t : {f32, f64}) {
      const std::string of = fmt::format(" {} {}x{}", name_of(t), rows, n);
      bench.run("fft" + of, op::fft, {{{t, {rows, n, 2}}}}, pack(FftAttrs{.axis = 1}));
      bench.run("rfft" + of, op::rfft, {{{t, {rows, n}}}}, pack(RealFftAttrs{.axis = 1, .length = n}));
      bench.run("irfft" + of, op::irfft, {{{t, {rows, n / 2 + 1, 2}}}},
                pack(RealFftAttrs{.axis = 1, .length = n, .inner = 2}));
    }
  }
  bench.run("fft f32 1024x64 across", op::fft, {{{f32, {1024, 64, 2}}}}, pack(FftAttrs{.axis = 0}));
}

void movement_and_numbers(Bench& bench) {
  for (DType t : {bf16, f32}) {
    for (std::int64_t n : {1000, 4096}) {
      bench.run(fmt::format("transpose {} {}x{}", name_of(t), n, n), op::transpose, {{{t, {n, n}}}},
                pack(TransposeAttrs{{1, 0}}));
    }
  }
  bench.run("argmax across 16384x1024", op::argmax, {{{f32, {16384, 1024}}}}, pack(AxisAttrs{0}));
  const Operand key{{i64, {}}, 1, 1};
  const Dims shape{4096, 4096};
  bench.run("random normal 16M", op::random_normal, {key}, pack(RandomNormalAttrs{.shape = shape}));
  bench.run("random uniform 16M", op::random_uniform, {key}, pack(RandomUniformAttrs{.shape = shape}));
  bench.run("random bernoulli 16M", op::random_bernoulli, {key},
            pack(RandomBernoulliAttrs{.shape = shape, .p = 0.9}));
}

}  // namespace

int main(int argc, char** argv) {
  Bench bench{.pool = ThreadPool(argc > 1 ? std::atoi(argv[1]) : 0), .only = argc > 2 ? argv[2] : ""};
  attentions(bench);
  along_rows(bench);
  look_ups(bench);
  functions(bench);
  fourier_transforms(bench);
  movement_and_numbers(bench);
}
