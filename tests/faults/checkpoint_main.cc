// A training run that keeps checkpoints, as a user would write one, for the trials of checkpoint_test.cc: a
// net with dropout by key, AdamW, batches of a loader. It resumes from FOLDER, goes on to the last step and
// prints
//   resumed STEP
//   memory LEAST MOST   the smallest budget, and what a plan without one takes; where no budget is given
//   events COUNT
//   state CHECKSUM      of parameters, moments, keys and the position of the data
//
//   checkpoint_child FOLDER KILL_AT BUDGET
//
// Events are steps and operations on files, counted before and after each, and in the middle of a write. At
// the one whose number is KILL_AT it ends itself with SIGKILL; 0: never. BUDGET is in bytes; 0: none.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>

#include "tidemark/nn/mlp.h"
#include "tidemark/schedule/store/checksum.h"
#include "tidemark/tidemark.h"
#include "tidemark/trace/storage.h"

namespace td = tidemark;

namespace {

long events = 0, kill_at = 0;

void event() {
  if (++events == kill_at) ::kill(::getpid(), SIGKILL);
}

// An operation of the C library, between two events.
long counted(long number, auto... arguments) {
  event();
  const long result = ::syscall(number, arguments...);
  const int error = errno;
  event();
  errno = error;
  return result;
}

constexpr std::int64_t rows = 96, width = 16, batch = 20, last_step = 24, every = 2;

struct Training {
  td::optim::AdamState<td::nn::Mlp> optimizer;
  td::Tensor key;
  TM_FIELDS(Training, optimizer, key)
};

const td::optim::AdamW adamw{.lr = 1e-2};

td::Tensor loss(const td::nn::Mlp& net, const td::Tensor& x, const td::Tensor& y, const td::Tensor& key) {
  td::Tensor h = x;
  for (std::size_t i = 0; i < net.layers.size(); ++i) {
    h = net.layers[i](h);
    if (i + 1 < net.layers.size())
      h = td::dropout(td::relu(h), 0.2, td::fold_in(key, static_cast<std::int64_t>(i)));
  }
  return td::mean(td::square(h - y));
}

Training stepped(const Training& state, const td::Tensor& x, const td::Tensor& y) {
  const auto keys = td::split_key(state.key, 2);
  return {td::optim::step(adamw, loss)(state.optimizer, x, y, keys[0]).first, keys[1]};
}

}  // namespace

extern "C" ssize_t pwrite(int file, const void* bytes, std::size_t size, off_t offset) {
  const std::size_t half = size / 2;
  const long first = half > 0 ? counted(SYS_pwrite64, file, bytes, half, offset) : 0;
  if (first < static_cast<long>(half)) return static_cast<ssize_t>(first);
  const long rest = counted(SYS_pwrite64, file, static_cast<const char*>(bytes) + half, size - half,
                            offset + static_cast<off_t>(half));
  return static_cast<ssize_t>(rest < 0 ? rest : first + rest);
}
extern "C" int fsync(int file) { return static_cast<int>(counted(SYS_fsync, file)); }
extern "C" int linkat(int from, const char* name, int to, const char* other, int flags) noexcept {
  return static_cast<int>(counted(SYS_linkat, from, name, to, other, flags));
}
extern "C" int renameat(int from, const char* name, int to, const char* other) noexcept {
  return static_cast<int>(counted(SYS_renameat2, from, name, to, other, 0));
}
extern "C" int unlinkat(int folder, const char* name, int flags) noexcept {
  return static_cast<int>(counted(SYS_unlinkat, folder, name, flags));
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  kill_at = std::atol(argv[2]);
  const long budget = std::atol(argv[3]);
  td::set_threads(2);
  try {
    const td::Tensor x = td::random_normal(td::key(1), {rows, width}), y = td::sin(td::sum(x, {1}, true));
    td::data::Loader loader(td::data::arrays(std::pair(x, y)),
                            {.batch = batch, .key = 5, .drop_last = false});
    Training state{adamw.init(td::nn::Mlp::init(td::key(2), {width, 24, 24, 24, 1})), td::key(3)};
    std::int64_t step = 0;
    const td::TrainingCheckpoints checkpoints(argv[1]);
    if (const auto found = checkpoints.resume(state)) {
      step = found->step;
      loader.seek(*found->position);
      if (!found->skipped.empty()) std::cout << "skipped " << found->skipped[0] << "\n";
    }
    std::cout << "resumed " << step << "\n" << std::flush;
    td::CompileOptions options{.donate = {0}, .effort = 0.05};
    if (budget > 0) options.memory = td::Bytes(budget);
    const auto train = td::compile(stepped, options);
    if (budget == 0) {
      const td::Tensor in = td::Tensor::of_type({x.dtype(), {batch, width}});
      const td::Tensor out = td::Tensor::of_type({y.dtype(), {batch, 1}});
      fmt::print("memory {} {}\n", train.smallest(td::types_of(state), in, out).memory.count,
                 train.prepare(td::types_of(state), in, out).peak().count);
    }
    while (step < last_step) {
      const auto [inputs, targets] = loader.next();
      state = train(state, inputs, targets);
      event();
      if (++step % every == 0) checkpoints.save(state, {.step = step, .position = loader.position()});
    }
    std::uint64_t sum = 1;
    const td::data::Position position = loader.position();
    for (const td::Tensor& tensor : td::tensors_of(state)) {
      const auto reading = tensor.read();
      sum = td::schedule::checksum({reading.data(), static_cast<std::size_t>(tensor.type().bytes())}, sum);
    }
    fmt::print("events {}\nstate {:016x} {} {}\n", events, sum, position.epoch, position.batch);
  } catch (const std::exception& error) {
    std::cout << "error " << error.what() << "\n";
    return 4;
  }
  return 0;
}
