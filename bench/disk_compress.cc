// What compressing saves of a disk's time, and costs of a processor's. First the codec alone, block by block
// on one thread, on values as there are in training. Then gradients of a GPT, a ResNet and layers with relu
// in half of what they hold beside parameters and gradients, with values waiting on the disk: as they are,
// compressed where that pays as measured, and always compressed; in turns, as ratios to the first. On a
// machine that is not quiet the processors' time says more than the time of day.
//
//   disk_compress FOLDER [MODEL [ROUNDS [RATE]]]     MODEL: gpt resnet18 relu-mlp, codec, or all
//
// RATE: a slower disk, in MB/s, as if it wrote and read so much one after the other.
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <mutex>
#include <thread>

#include "tidemark/base/stopwatch.h"
#include "tidemark/cpu/block_compression.h"
#include "tidemark/cpu/calibrate_links.h"
#include "tidemark/ir/graph.h"
#include "tidemark/nn/models.h"
#include "tidemark/tidemark.h"

namespace {

using namespace tidemark;
using namespace tidemark::literals;

struct SlowDisk {
  double bytes_per_second = std::numeric_limits<double>::infinity();
  std::mutex mutex;
  std::chrono::steady_clock::time_point free_at = {};

  ssize_t moved(long result) {
    if (result <= 0 || bytes_per_second == std::numeric_limits<double>::infinity()) return result;
    const std::chrono::duration<double> seconds(static_cast<double>(result) / bytes_per_second);
    std::chrono::steady_clock::time_point until;
    {
      const std::lock_guard lock(mutex);
      free_at = std::max(free_at, std::chrono::steady_clock::now()) +
                std::chrono::duration_cast<std::chrono::steady_clock::duration>(seconds);
      until = free_at;
    }
    std::this_thread::sleep_until(until);
    return result;
  }
};
SlowDisk& slow_disk() {
  static SlowDisk disk;
  return disk;
}

struct Settings {
  std::string folder, model = "all";
  int rounds = 5;
  Machine machine = reference_machine();
};
constexpr int first_runs = 2, learning_runs = 8;  // the latter: until automatic has made up its mind

bool wanted(const Settings& settings, const std::string& name) {
  return settings.model == "all" || settings.model == name;
}

Tensor some_labels(std::int64_t seed, const Shape& shape, double classes) {
  return cast(floor(random_uniform(key(seed), shape, 0, classes)), DType::i32);
}

// Of this thread, or of all of this process, whatever else the machine does.
double processor_seconds(const auto& body, clockid_t clock = CLOCK_THREAD_CPUTIME_ID) {
  const auto now = [&] {
    timespec time{};
    ::clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double begin = now();
  body();
  return now() - begin;
}

void codec_row(const char* name, const Tensor& value) {
  const std::span<const std::byte> bytes(value.bytes(), static_cast<std::size_t>(value.type().bytes()));
  const auto width = static_cast<std::size_t>(size_of(value.dtype()));
  BlockCompressor compressor;
  BlockExpander expander;
  std::vector<std::byte> stored(2 * bytes.size() + compression_block_bytes), back(bytes.size());
  std::vector<std::size_t> sizes(bytes.size() / compression_block_bytes + 1);
  std::size_t end = 0;
  const auto blocks = [&](const auto& body) {
    for (std::size_t at = 0, b = 0; at < bytes.size(); at += compression_block_bytes, ++b)
      body(b, bytes.subspan(at, std::min(compression_block_bytes, bytes.size() - at)), back.data() + at);
  };
  double copying = 1e9, compressing = 1e9, expanding = 1e9;
  for (int round = 0; round < 3; ++round) {
    copying = std::min(copying, processor_seconds([&] {
                         blocks([&](std::size_t, std::span<const std::byte> block, std::byte* to) {
                           std::memcpy(to, block.data(), block.size());
                         });
                       }));
    end = 0;
    compressing = std::min(compressing, processor_seconds([&] {
                             blocks([&](std::size_t b, std::span<const std::byte> block, std::byte*) {
                               const std::span<std::byte> room(stored.data() + end, block.size() - 1);
                               sizes[b] = compressor.compress(width, block, room);
                               if (sizes[b] == 0) std::memcpy(room.data(), block.data(), block.size());
                               end += sizes[b] > 0 ? sizes[b] : block.size();
                             });
                           }));
    std::size_t from = 0;
    expanding = std::min(expanding, processor_seconds([&] {
                           blocks([&](std::size_t b, std::span<const std::byte> block, std::byte* to) {
                             const std::size_t size = sizes[b] > 0 ? sizes[b] : block.size();
                             if (sizes[b] == 0)
                               std::memcpy(to, stored.data() + from, size);
                             else
                               expander.expand(width, {stored.data() + from, size}, {to, block.size()});
                             from += size;
                           });
                         }));
  }
  if (!std::ranges::equal(back, bytes)) fmt::print("other bytes!\n");
  const double gb = 1e-9 * static_cast<double>(bytes.size());
  fmt::print("  {:<34} {:>6.1f} MB to {:.3f}, {:>6.2f} GB/s and back {:>6.2f}; memcpy {:>6.2f}\n", name,
             1e3 * gb, static_cast<double>(end) / static_cast<double>(bytes.size()), gb / compressing,
             gb / expanding, gb / copying);
}

void codec_table() {
  fmt::print("the codec, one thread\n");
  const nn::GptConfig config{.layers = 2, .width = 384, .heads = 6, .vocabulary = 8192, .context = 256};
  const Tensor logits = nn::Gpt::init(key(0), config)(some_labels(1, {4, 256}, 8192));
  codec_row("f32, logits of a GPT", logits);
  codec_row("f32, half of them relu's zeros", relu(logits));
  codec_row("f32, 9 of 10 zeros",
            logits * cast(random_uniform(key(3), logits.shape(), 0, 1) < 0.1, DType::f32));
  codec_row("f32, rounded to bf16", cast(cast(logits, DType::bf16), DType::f32));
  codec_row("bf16", cast(logits, DType::bf16));
  codec_row("f64", cast(logits, DType::f64));
  codec_row("i32, tokens below 8192", some_labels(4, {4 << 20}, 8192));
  codec_row("bool, a mask of half", logits > 0);
  codec_row("f32, zeros", zeros({8 << 20}));
}

struct Way {
  const char* name;
  DiskCompression compress;
};
constexpr Way ways[] = {{"as they are", DiskCompression::none},
                        {"automatic", DiskCompression::automatic},
                        {"always", DiskCompression::always}};

template <class Model>
Tensor class_loss(const Model& model, const Tensor& x, const Tensor& labels) {
  return nn::classification_loss(model(x), labels);
}

template <class Model>
void table(const Settings& settings, const char* name, const Model& model, const Tensor& x, const Tensor& y) {
  if (!wanted(settings, name)) return;
  CompileOptions options{.machine = settings.machine, .effort = 0.3};
  const auto free = compile(grad(class_loss<Model>), options);
  const Plan base = free.prepare(model, x, y).plan;
  std::int64_t fixed = base.input_bytes;  // and gradients, as large as the parameters
  for (const ValueId v : free.plan().graph.outputs()) fixed += free.plan().graph.type(v).bytes();
  options.memory = Bytes(fixed + (base.peak() - fixed) / 2);
  options.allow = {Choice::disk};
  using Step = decltype(compile(grad(class_loss<Model>), options));
  std::vector<Step> steps;
  std::vector<double> least(std::size(ways), std::numeric_limits<double>::infinity()), work = least;
  for (const Way& way : ways) {
    options.disk = DiskBudget{.folder = settings.folder, .bytes = 16_GiB, .compress = way.compress};
    steps.push_back(compile(grad(class_loss<Model>), options));
    const int runs = way.compress == DiskCompression::automatic ? learning_runs : first_runs;
    for (int run = 0; run < runs; ++run) (void)steps.back()(model, x, y);
  }
  std::vector<FunctionMemory> before;
  for (const Step& step : steps) before.push_back(step.memory_report());
  for (int round = 0; round < settings.rounds; ++round) {
    for (std::size_t w = 0; w < steps.size(); ++w)
      least[w] = std::min(least[w], seconds_taken([&] {
                            const auto call = [&] { (void)steps[w](model, x, y); };
                            work[w] = std::min(work[w], processor_seconds(call, CLOCK_PROCESS_CPUTIME_ID));
                          }));
  }
  double without = std::numeric_limits<double>::infinity();
  for (int round = 0; round <= settings.rounds; ++round)
    without = std::min(without, seconds_taken([&] { (void)free(model, x, y); }));
  fmt::print("{}: {:.1f} ms with everything kept\n", name, 1e3 * without);
  for (std::size_t w = 0; w < steps.size(); ++w) {
    const FunctionMemory now = steps[w].memory_report();
    const auto calls = static_cast<double>(settings.rounds);
    const auto megabytes = [&](Bytes later, Bytes sooner) {
      return 1e-6 * static_cast<double>(later.count - sooner.count) / calls;
    };
    const double values = megabytes(now.disk_values, before[w].disk_values),
                 moved = megabytes(now.disk_moved, before[w].disk_moved);
    fmt::print(
        "  {:<12} {:>8.1f} ms {:.3f}, processors {:>8.1f} ms {:.3f}; {:>6.1f} MB a call, moved {:.3f} of "
        "that\n",
        ways[w].name, 1e3 * least[w], least[w] / least[0], 1e3 * work[w], work[w] / work[0], values,
        moved / values);
  }
  std::fflush(stdout);
}

// Layers wide enough that what waits are the outputs of relu.
struct ReluMlp {
  std::vector<Tensor> weights;
  TM_FIELDS(ReluMlp, weights)
  Tensor operator()(Tensor h) const {
    for (const Tensor& w : weights) h = relu(matmul(h, w) - 0.8);
    return h;
  }
};

}  // namespace

extern "C" {
ssize_t pwrite(int file, const void* bytes, size_t count, off_t offset) {
  return slow_disk().moved(::syscall(SYS_pwrite64, file, bytes, count, offset));
}
ssize_t pread(int file, void* bytes, size_t count, off_t offset) {
  return slow_disk().moved(::syscall(SYS_pread64, file, bytes, count, offset));
}
}

int main(int count, char** arguments) {
  if (count < 2) {
    fmt::print(stderr, "usage: disk_compress FOLDER [MODEL [ROUNDS [RATE]]]\n");
    return 2;
  }
  Settings settings{.folder = arguments[1]};
  if (count > 2) settings.model = arguments[2];
  if (count > 3) settings.rounds = std::atoi(arguments[3]);
  if (count > 4) slow_disk().bytes_per_second = 1e6 * std::atof(arguments[4]);
  if (wanted(settings, "codec")) codec_table();
  CpuDevice device;
  measure_disk(settings.machine, device, settings.folder);
  const nn::GptConfig gpt{.layers = 6, .width = 384, .heads = 6, .vocabulary = 8192, .context = 256};
  table(settings, "gpt", nn::Gpt::init(key(0), gpt), some_labels(1, {8, 256}, 8192),
        some_labels(2, {8, 256}, 8192));
  table(settings, "resnet18", nn::ResNet::init(key(0), {}), random_normal(key(1), {64, 3, 64, 64}),
        some_labels(2, {64}, 1000));
  ReluMlp mlp;
  for (int i = 0; i < 12; ++i) mlp.weights.push_back(random_normal(key(i), {1024, 1024}, 0, 0.05));
  table(settings, "relu-mlp", mlp, random_normal(key(1), {4096, 1024}), some_labels(2, {4096}, 1024));
}
