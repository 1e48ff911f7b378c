// A training run with a disk, as a user would write one, for the trials of trial.h: it does what the lines on
// its input say and answers each with a line. It keeps a second run without a disk beside it, and so knows
// what is right.
//
//   call          "begin", then a step of training: "ok", "wrong …", or "error CODE STATE MESSAGE", where
//                 STATE is what became of the donated weights: kept, or lost with an error that says so
//   memory BYTES  another budget: "ok"
//   report        "disk BYTES PLAN", the bytes reserved there and "without" where the plan does not use it
//   files         "files COUNT", how many this process has open
#include <fmt/format.h>
#include <grp.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>

#include "tests/support/process_counts.h"
#include "tidemark/tidemark.h"

namespace td = tidemark;

namespace {

struct Net {
  std::vector<td::Tensor> weights;
  TM_FIELDS(Net, weights)
};

constexpr int layers = 6, loop_steps = 12;
constexpr std::int64_t rows = 2048, width = 64;

Net first_net() {
  Net net;
  for (int i = 0; i < layers; ++i)
    net.weights.push_back(td::random_normal(td::key(i), {width, width}, 0, 0.2));
  return net;
}

// What sends values to the disk: the budget, hints, or a loop with a disk of its own.
enum class Sender { budget, hints, loop };

// `with_disk`: as the sender says. Else the same function without it, to the bit.
auto training_step(Sender sender, bool with_disk) {
  return [sender, with_disk](const Net& net, td::Tensor x) {
    const auto layer = [](const td::Tensor& h, const td::Tensor& w) { return td::tanh(td::matmul(h, w)); };
    const auto loss = [&](const Net& p) {
      td::Tensor h = x;
      if (sender == Sender::loop) {
        td::LoopOptions options;
        if (with_disk) options = {.memory = td::Bytes(1 << 20), .disk = td::Bytes(256 << 20)};
        const auto all_layers = [&](td::Tensor state) {
          for (const td::Tensor& w : p.weights) state = layer(state, w);
          return state;
        };
        h = td::repeat(loop_steps, all_layers, h, options);
      } else {
        for (const td::Tensor& w : p.weights) {
          h = layer(h, w);
          if (with_disk && sender == Sender::hints) h = td::offload(h, td::disk);
        }
      }
      return td::mean(td::square(h));
    };
    return td::map_tree([](const td::Tensor& w, const td::Tensor& g) { return w - g * 0.5; }, net,
                        td::grad(loss)(net));
  };
}

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

void answer(const std::string& line) { std::cout << line << "\n" << std::flush; }

std::string difference(const Net& a, const Net& b) {
  for (std::size_t i = 0; i < a.weights.size(); ++i) {
    if (a.weights[i].to_vector() != b.weights[i].to_vector()) return fmt::format("weights {}", i);
  }
  return "";
}

Net copied(const Net& net) {
  return td::map_tree([](const td::Tensor& w) { return td::tensor_from_bytes(w.type(), w.bytes()); }, net);
}

struct Training {
  td::CompileOptions options;
  Sender sender;
  Net net = first_net(), right = first_net();
  td::Tensor x = td::random_normal(td::key(99), {rows, width});

  void run() {
    const auto step = td::compile(training_step(sender, true), options);
    const auto reference = td::compile(training_step(sender, false));
    std::string line;
    while (std::getline(std::cin, line)) {
      if (line == "call") {
        call(step, reference);
      } else if (line.starts_with("memory ")) {
        step.set_memory(td::Bytes(std::atoll(line.c_str() + 7)));
        answer("ok");
      } else if (line == "report") {
        answer(fmt::format("disk {} {}", step.memory_report().disk.count,
                           step.plan().plan.further.empty() ? "without" : "with"));
      } else if (line == "files") {
        answer(fmt::format("files {}", tidemark::testing::open_files()));
      } else {
        answer("what?");
      }
    }
  }

  template <class Step, class Reference>
  void call(const Step& step, const Reference& reference) {
    answer("begin");
    const Net before = copied(right);
    try {
      net = step(net, x);
    } catch (const td::Error& error) {
      return answer(fmt::format("error {} {} {}", static_cast<int>(error.code()), state(before),
                                one_line(error.what())));
    } catch (const std::exception& error) {
      return answer(fmt::format("wrong exception: {}", one_line(error.what())));
    }
    right = reference(right, x);
    const std::string wrong = difference(net, right);
    answer(wrong.empty() ? "ok" : "wrong " + wrong);
  }

  // What a failed call left of the weights; they are right again afterwards.
  std::string state(const Net& before) {
    std::string state = "kept";
    try {
      if (!difference(net, before).empty()) state = "other";
    } catch (const td::Error& error) {
      const std::string text = error.what();
      state = text.find("was lost when a function failed") != std::string::npos ? "lost" : "unsaid";
    }
    net = copied(before);
    return state;
  }
};

}  // namespace

// FOLDER MEMORY (bytes) SENDER (0 to 2) FALLBACK (0, 1) USER (number; that of nobody, say) COMPRESS (0 to
// 2, as DiskCompression has them)
int main(int argc, char** argv) {
  if (argc != 7) return 2;
  std::signal(SIGXFSZ, SIG_IGN);
  const auto user = static_cast<uid_t>(std::atoi(argv[5]));
  if (user != ::getuid() && (::setgroups(0, nullptr) != 0 || ::setgid(user) != 0 || ::setuid(user) != 0))
    return 3;
  td::set_threads(2);
  try {
    Training{
        .options = {.memory = td::Bytes(std::atoll(argv[2])),
                    .disk = td::DiskBudget{argv[1], td::Bytes(std::int64_t{1} << 30), std::atoi(argv[4]) != 0,
                                           static_cast<td::DiskCompression>(std::atoi(argv[6]))},
                    .donate = {0},
                    .effort = 0.05},
        .sender = static_cast<Sender>(std::atoi(argv[3]))}
        .run();
  } catch (const std::exception& error) {
    answer(fmt::format("wrong exception: {}", one_line(error.what())));
    return 4;
  }
  return 0;
}
