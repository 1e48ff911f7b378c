// A U-Net says of every pixel whether it belongs to a disk, to a square or to neither. The images are made
// as they are needed: example i is a function of i, so that a run that goes on sees what it would have seen.
//
//   14_segmentation --side 64 --width 16 --levels 3 --memory 256MiB --steps 2000 --folder RUN
#include <fmt/core.h>

#include "examples/options.h"
#include "examples/run_folder.h"
#include "tidemark/nn/models.h"
#include "tidemark/tidemark.h"

namespace td = tidemark;
namespace nn = tidemark::nn;
using namespace td::literals;

struct Settings {
  std::string folder;
  std::string device = "cpu";
  td::Bytes memory = 2816_KiB;
  std::int64_t steps = 200, save_every = 100, batch = 8, side = 24, width = 8, levels = 2;
  double lr = 1e-2;
};
using Scene = std::pair<td::Tensor, td::Tensor>;  // image (1, side, side), classes (side, side)

// A disk of brightness 1 and a square of the same, in noise.
Scene scene(std::int64_t index, std::int64_t side) {
  const auto keys = td::split_key(td::fold_in(td::key(3), index), 3);
  const std::vector<double> at = td::random_uniform(keys[0], {4}, 0.2, 0.8).to_vector();
  const std::vector<double> size = td::random_uniform(keys[1], {2}, 0.15, 0.3).to_vector();
  const td::Tensor x = td::linspace(0, 1, side), y = td::reshape(x, {side, 1});
  const td::Tensor in_disk = td::square(x - at[0]) + td::square(y - at[1]) < size[0] * size[0];
  const td::Tensor in_square = td::maximum(td::abs(x - at[2]), td::abs(y - at[3])) < size[1];
  const td::Tensor classes =
      td::select(in_square, td::scalar(2, td::DType::i32), td::cast(in_disk, td::DType::i32));
  const td::Tensor image =
      td::cast(classes > 0, td::DType::f32) + td::random_normal(keys[2], {side, side}, 0, 0.3);
  return {td::reshape(image, {1, side, side}), classes};
}

auto loss(const nn::UNet& model, const nn::NormStatistics& old, td::Tensor images, td::Tensor classes) {
  auto [logits, statistics] = model.train(images, old);
  return std::tuple(nn::classification_loss(logits, classes), statistics);
}

// Of the pixels of a class or taken for it, the share that is both.
double overlap(const std::vector<double>& confusion, std::size_t c) {
  double either = -confusion[c * 3 + c];
  for (std::size_t k = 0; k < 3; ++k) either += confusion[c * 3 + k] + confusion[k * 3 + c];
  return confusion[c * 3 + c] / either;
}

void train(const Settings& s) {
  const auto make = [side = s.side](std::int64_t index) { return scene(index, side); };
  td::data::Loader loader(td::data::examples(1'000'000, make), {.batch = s.batch});
  const td::optim::AdamW adamw{.lr = td::optim::cosine({.from = s.lr, .to = s.lr / 20, .steps = s.steps})};
  const nn::UNet model =
      nn::UNet::init(td::key(0), {.channels = 1, .classes = 3, .width = s.width, .levels = s.levels});
  auto run = std::pair(adamw.init(model), nn::fresh_statistics(model));  // all that a checkpoint holds
  auto& [state, statistics] = run;
  const auto step = td::compile(td::optim::step(adamw, loss),
                                {.memory = s.memory, .donate = {0, 1}, .device = td::device_named(s.device)});

  const RunFolder folder(s.folder);
  std::int64_t done = folder.resume(run, loader);
  td::ProgressBar bar({.name = "train", .total = s.steps, .done = done});
  while (done < s.steps) {
    const auto [images, classes] = loader.next();
    auto [next, values] = step(state, statistics, images, classes);
    state = next;
    statistics = std::get<1>(values);
    ++done;
    bar.show("loss", std::get<0>(values).item()).show(step);
    bar.advance();
    if (done % s.save_every == 0 || done == s.steps) folder.save(run, loader, done);
  }
  bar.finish();

  // Scenes with numbers that the loader does not have.
  std::vector<td::Tensor> images, classes;
  for (std::int64_t i = 0; i < 32; ++i) {
    const auto [image, truth] = make(-1 - i);
    images.push_back(image), classes.push_back(truth);
  }
  const td::Tensor said = td::argmax(state.parameters.infer(td::stack(images), statistics), -1);
  const std::vector<double> confusion = td::confusion_matrix(said, td::stack(classes), 3).to_vector();
  fmt::print("overlap (IoU) on new scenes: disks {:.2f}, squares {:.2f}\n", overlap(confusion, 1),
             overlap(confusion, 2));
  const std::vector<double> first = said.at(0).to_vector();
  for (std::size_t i = 0; i < first.size(); ++i)
    fmt::print("{}{}", ".o#"[static_cast<int>(first[i])],
               (i + 1) % static_cast<std::size_t>(s.side) == 0 ? "\n" : " ");
}

int main(int argc, char** argv) {
  Settings s;
  Options options("Trains a U-Net on generated disks and squares, inside a budget.");
  options.add("--folder", s.folder, "for checkpoints; a run that is there goes on; none: no files")
      .add("--device", s.device, "where a step runs: cpu, cuda, or cuda:1")
      .add("--memory", s.memory, "all that a training step may hold")
      .add("--steps", s.steps, "updates in all")
      .add("--save_every", s.save_every, "updates between checkpoints")
      .add("--batch", s.batch, "scenes in an update")
      .add("--side", s.side, "pixels; a multiple of 2 to the levels")
      .add("--width", s.width, "channels of the first level")
      .add("--levels", s.levels, "times that the side is halved")
      .add("--lr", s.lr, "the first rate of AdamW");
  return options.run(argc, argv, [&] { train(s); });
}
