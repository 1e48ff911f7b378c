// Files and data next to what they cannot beat: loading tensors as a ratio to reading the same bytes into new
// memory, saving to writing them, batches of a loader to copying their rows; and how fast byte-pair encoding
// learns and encodes a text. Everything in one run, the best of a few rounds.
//
//   data_files FOLDER TEXT [VOCABULARY]     bench/peers/bpe_tokenizers.py learns from the same TEXT
//   data_files --copy FROM TO               loads a file and saves it, for bench/peers/tensor_files.py
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "tidemark/base/aligned.h"
#include "tidemark/base/stopwatch.h"
#include "tidemark/base/text_file.h"
#include "tidemark/tidemark.h"

namespace {

namespace td = tidemark;

constexpr int rounds = 5;
constexpr std::int64_t tensors = 32, elements = 2'000'000;  // 256 MB of f32

double best_seconds(const std::function<void()>& f) {
  double best = 1e30;
  for (int i = 0; i < rounds; ++i) {
    const td::Stopwatch watch;
    f();
    best = std::min(best, watch.seconds());
  }
  return best;
}

void row(std::string_view what, double seconds, double megabytes, double plain) {
  fmt::print("{:<34} {:>8.1f} ms {:>8.0f} MB/s   {:.2f} of plain\n", what, seconds * 1e3, megabytes / seconds,
             seconds / plain);
}

void files(const std::string& folder) {
  std::map<std::string, td::Tensor> tree;
  for (std::int64_t i = 0; i < tensors; ++i)
    tree[fmt::format("w{:02}", i)] = td::random_normal(td::key(i), {elements});
  const double megabytes = static_cast<double>(tensors * elements * 4) / 1e6;
  const std::string path = folder + "/bench.safetensors", npz = folder + "/bench.npz";

  const double written = best_seconds([&] {
    td::OutputFile file(path);
    for (const auto& [name, tensor] : tree) {
      const auto* bytes = reinterpret_cast<const char*>(tensor.bytes());
      for (std::int64_t done = 0; done < 4 * elements; done += 1 << 20)
        file.write(
            {bytes + done, static_cast<std::size_t>(std::min<std::int64_t>(1 << 20, 4 * elements - done))});
    }
    file.commit();
  });
  row("write, plain", written, megabytes, written);
  row("save .safetensors", best_seconds([&] { td::save(path, tree); }), megabytes, written);
  row("save .npz", best_seconds([&] { td::save(npz, tree); }), megabytes, written);
  row("save a checkpoint", best_seconds([&] {
        td::TrainingCheckpoints(folder + "/bench-checkpoints", {.keep = 1}).save(tree, {.step = 1});
      }),
      megabytes, written);

  const double read = best_seconds([&] {
    const td::FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    for (std::int64_t i = 0; i < tensors; ++i) {
      const td::AlignedBytes memory = td::allocate_aligned(4 * elements);
      std::size_t done = 0;
      td::read_fully(file.get(), {memory.get(), static_cast<std::size_t>(4 * elements)},
                     static_cast<std::uint64_t>(i * 4 * elements), done);
    }
  });
  row("read, plain", read, megabytes, read);
  row("load .safetensors", best_seconds([&] { td::load(path, tree); }), megabytes, read);
  row("load .safetensors, mapped", best_seconds([&] { td::load(path, tree, {.map = true}); }), megabytes,
      read);
  row("load .npz", best_seconds([&] { td::load(npz, tree); }), megabytes, read);
  row("resume a checkpoint",
      best_seconds([&] { td::TrainingCheckpoints(folder + "/bench-checkpoints").resume(tree); }), megabytes,
      read);
}

void loader() {
  constexpr std::int64_t rows = 60000, width = 784, batch = 256;
  const td::Tensor images = td::cast(td::random_uniform(td::key(1), {rows, width}, 0, 255), td::DType::u8);
  const double megabytes = rows * width / 1e6;
  const td::AlignedBytes to = td::allocate_aligned(batch * width);
  const double plain = best_seconds([&] {
    const std::byte* from = images.bytes();
    for (std::int64_t i = 0; i < rows; ++i)
      std::memcpy(to.get() + i % batch * width, from + i * 7919 % rows * width,
                  static_cast<std::size_t>(width));
  });
  row("rows of MNIST's size, copied", plain, megabytes, plain);
  for (const int prefetch : {0, 2}) {
    td::data::Loader loader(td::data::arrays(images), {.batch = batch, .prefetch = prefetch});
    const double seconds = best_seconds([&] {
      for (const td::Tensor& taken : loader) std::ignore = taken;
    });
    row(fmt::format("loader, prefetch {}", prefetch), seconds, megabytes, plain);
  }
}

void tokenizer(const std::string& path, std::int64_t vocabulary) {
  const std::string text = td::read_text_file(path, "a text");
  const double megabytes = static_cast<double>(text.size()) / 1e6;
  const td::Stopwatch training;
  const auto bpe = td::data::BpeTokenizer::train(text, {.vocabulary = vocabulary});
  const double trained = training.seconds();
  td::data::Tokens tokens;
  const double encoded = best_seconds([&] { tokens = bpe.encode(text); });
  fmt::print(
      "byte-pair encoding of {:.1f} MB, {} tokens: trained in {:.2f} s, encodes {:.1f} MB/s, {:.2f} bytes a "
      "token\n",
      megabytes, bpe.vocabulary(), trained, megabytes / encoded,
      static_cast<double>(text.size()) / static_cast<double>(tokens.size()));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print("data_files FOLDER TEXT [VOCABULARY]\ndata_files --copy FROM TO\n");
    return 2;
  }
  try {
    if (argc == 4 && std::string_view(argv[1]) == "--copy") {
      td::save(argv[3], td::load(argv[2]));
      return 0;
    }
    files(argv[1]);
    loader();
    tokenizer(argv[2], argc > 3 ? std::atoll(argv[3]) : 8192);
  } catch (const std::exception& error) {
    fmt::print("{}\n", error.what());
    return 1;
  }
}
