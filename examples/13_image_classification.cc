// A small residual network learns to tell images apart. Its batch norms keep running statistics, which travel
// through the training step beside the loss and serve in use, on images it has not seen.
//
//   13_image_classification --data FOLDER --memory 1GiB --epochs 10 --width 32 --folder RUN
//
// FOLDER has train-images-idx3-ubyte and train-labels-idx1-ubyte (MNIST) or data_batch_1.bin to _5
// (CIFAR-10). Without arguments it learns stripes of four directions, in a few seconds.
#include <fmt/core.h>

#include <filesystem>
#include <numbers>

#include "examples/options.h"
#include "examples/run_folder.h"
#include "tidemark/nn/models.h"
#include "tidemark/tidemark.h"

namespace td = tidemark;
namespace nn = tidemark::nn;
using namespace td::literals;

struct Settings {
  std::string data, folder;
  std::string device = "cpu";
  td::Bytes memory = 2_MiB;
  std::int64_t epochs = 3, batch = 32, width = 8;
  double lr = 0.02;
};

// Stripes that are level, rise, stand or fall, at any phase and in noise.
td::data::Images stripes(std::int64_t count, std::int64_t side) {
  const td::Tensor labels = td::arange(count, td::DType::i32) % 4;
  const td::Tensor angle =
      td::cast(td::reshape(labels, {count, 1, 1, 1}), td::DType::f32) * (std::numbers::pi / 4);
  const td::Tensor x = td::arange(side, td::DType::f32), y = td::reshape(x, {side, 1});
  const td::Tensor phase = td::random_uniform(td::key(5), {count, 1, 1, 1}, 0, 2 * std::numbers::pi);
  const td::Tensor wave = td::sin(x * td::sin(angle) + y * td::cos(angle) + phase);  // (count, 1, side, side)
  const td::Tensor noise = td::random_normal(td::key(6), {count, 3, side, side}, 0, 0.5);
  return {td::cast(td::clamp((wave + noise) * 60 + 128, 0, 255), td::DType::u8), labels};
}

td::data::Images images_of(const std::string& folder) {
  if (folder.empty()) return stripes(640, 12);
  const std::string idx = folder + "/train-images-idx3-ubyte";
  if (std::filesystem::exists(idx)) return td::data::read_mnist(idx, folder + "/train-labels-idx1-ubyte");
  std::vector<std::string> paths;
  for (int i = 1; i <= 5; ++i) paths.push_back(fmt::format("{}/data_batch_{}.bin", folder, i));
  return td::data::read_cifar(paths);
}

td::data::Images part(const td::data::Images& all, const td::Range& range) {
  return {all.images.at(range), all.labels.at(range)};
}

// Bytes (N, H, W) or (N, channels, H, W) as numbers around 0 with three channels.
td::Tensor scaled(const td::Tensor& images) {
  td::Tensor x = td::cast(images, td::DType::f32) / 64 - 2;
  if (x.rank() == 3) x = td::reshape(x, {x.size(0), 1, x.size(1), x.size(2)});
  return td::broadcast(x, {x.size(0), 3, x.size(2), x.size(3)});
}

auto loss(const nn::ResNet& model, const nn::NormStatistics& old, const td::data::Images& batch) {
  auto [logits, statistics] = model.train(scaled(batch.images), old);
  return std::tuple(nn::classification_loss(logits, batch.labels), statistics);
}

void train(const Settings& s) {
  const td::data::Images all = images_of(s.data);
  const std::int64_t count = all.labels.size(0), seen = count - count / 5;
  const auto classes = td::max(all.labels).item<std::int32_t>() + 1;
  td::data::Loader loader(td::data::arrays(part(all, {0, seen})), {.batch = s.batch});
  td::data::Loader held_out(td::data::arrays(part(all, {seen, count})),
                            {.batch = s.batch, .shuffle = false, .drop_last = false});

  const std::int64_t steps = s.epochs * loader.batches();
  const td::optim::Momentum momentum{.lr = td::optim::one_cycle({.peak = s.lr, .steps = steps}),
                                     .weight_decay = 5e-4};
  const nn::ResNet model = nn::ResNet::init(
      td::key(0), {.depths = {1, 1, 1}, .width = s.width, .classes = classes, .small_images = true});
  auto run = std::pair(momentum.init(model), nn::fresh_statistics(model));  // all that a checkpoint holds
  auto& [state, statistics] = run;
  const auto step = td::compile(td::optim::step(momentum, loss),
                                {.memory = s.memory, .donate = {0, 1}, .device = td::device_named(s.device)});
  const auto rightness =
      td::compile([](const nn::ResNet& net, const nn::NormStatistics& known, const td::data::Images& batch) {
        return td::accuracy(net.infer(scaled(batch.images), known), batch.labels);
      });

  const RunFolder folder(s.folder);
  std::int64_t done = folder.resume(run, loader);
  fmt::print("{} images of {} classes to learn from, {} to be asked about\n", seen, classes, count - seen);
  td::ProgressBar bar({.name = "train", .total = steps, .done = done});
  while (done < steps) {
    auto [next, values] = step(state, statistics, loader.next());
    state = next;
    statistics = std::get<1>(values);
    ++done;
    bar.show("loss", std::get<0>(values).item()).show(step);
    bar.advance();
    if (done % loader.batches() == 0) folder.save(run, loader, done);  // an epoch is over
  }
  bar.finish();

  td::Mean right;
  for (const td::data::Images& batch : held_out)
    right.add(rightness(state.parameters, statistics, batch).item(), double(batch.labels.size(0)));
  fmt::print("{:.1f}% of the images that it has not seen are told right\n", 100 * right.value());
}

int main(int argc, char** argv) {
  Settings s;
  Options options("Trains a small ResNet on images, inside a budget, and tests it on others.");
  options.add("--data", s.data, "a folder with IDX or CIFAR-10 files; none: generated stripes")
      .add("--folder", s.folder, "for a checkpoint per epoch; a run that is there goes on; none: no files")
      .add("--device", s.device, "where a step runs: cpu, cuda, or cuda:1")
      .add("--memory", s.memory, "all that a training step may hold")
      .add("--epochs", s.epochs, "times that every image is seen")
      .add("--batch", s.batch, "images in an update")
      .add("--width", s.width, "channels of the first stage")
      .add("--lr", s.lr, "the highest rate");
  return options.run(argc, argv, [&] { train(s); });
}
