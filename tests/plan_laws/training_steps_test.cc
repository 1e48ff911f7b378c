// Full training steps (loss, gradients, AdamW) of the models that speed is measured on, in small: a run
// allocates nothing once it is prepared, gives the same bits with one and with two threads, and each step
// those of its first run. So does one whose kernels are timed for a profile.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "tests/support/count_allocations.h"
#include "tests/support/test_target.h"
#include "tests/support/tiny_models.h"
#include "tidemark/cpu/device.h"
#include "tidemark/engine/program.h"
#include "tidemark/trace/storage.h"

namespace tidemark {
namespace {

constexpr auto adamw = nn::OptimizerKind::adamw;
using tiny::random_labels;

tiny::TinyModel mlp() {
  const auto init = [] { return nn::Mlp::init(key(0), {96, 160, 160, 160, 10}); };
  return tiny::classifier("mlp", adamw, init, random_normal(key(7), {128, 96}), random_labels(8, {128}, 10));
}
tiny::TinyModel gpt(std::int64_t batch, std::int64_t context) {
  const nn::GptConfig config{.layers = 2, .width = 64, .heads = 2, .vocabulary = 160, .context = context};
  const auto init = [config] { return nn::Gpt::init(key(0), config); };
  return tiny::classifier("gpt", adamw, init, random_labels(7, {batch, context}, 160),
                          random_labels(8, {batch, context}, 160));
}
tiny::TinyModel resnet18() {
  const auto init = [] { return nn::ResNet::init(key(0), {.width = 8, .classes = 10}); };
  return tiny::classifier("resnet18", adamw, init, tiny::random_images(2, 64), random_labels(8, {2}, 10));
}
tiny::TinyModel unet() {
  const auto init = [] { return nn::UNet::init(key(0), {.width = 6, .levels = 3}); };
  return tiny::classifier("unet", adamw, init, tiny::random_images(2, 40), random_labels(8, {2, 40, 40}, 2));
}
tiny::TinyModel lstm() {
  const auto init = [] { return nn::Lstm::init(key(0), {.layers = 1, .width = 96, .vocabulary = 64}); };
  return tiny::classifier("lstm", adamw, init, random_labels(7, {12, 16}, 64),
                          random_labels(8, {12, 16}, 64));
}

// Every byte of the state and the loss after so many steps, the allocations of all but the first.
struct Trained {
  std::vector<std::vector<std::byte>> bits;
  std::int64_t allocations = 0;
};
Trained train(const tiny::TinyModel& model, const Graph& graph, const Plan& plan, int threads, int steps) {
  CpuDevice device(threads);
  Arena arena(device, plan.arena_bytes);
  Executor executor(graph, verified(graph, plan, test_target()), device, arena);
  const std::vector<Tensor> inputs = model.inputs();
  std::vector<std::byte*> memory;
  for (const Tensor& t : inputs) memory.push_back(t.storage()->data());
  const auto bits_of = [&](std::size_t output) {
    const Ref& ref = plan.outputs[output];
    const Buffer& buffer = plan.buffers[ref.buffer.index];
    const std::byte* at = (buffer.binding == Binding::argument ? memory[static_cast<std::size_t>(buffer.slot)]
                                                               : host_pointer(arena.base() + buffer.offset)) +
                          ref.offset;
    return std::vector<std::byte>(at, at + graph.type(ref.value).bytes());
  };
  // Output i is what input i becomes; donated ones are there already.
  const auto feed_back = [&] {
    for (std::size_t i = 0; i < model.state; ++i) {
      const std::vector<std::byte> bits = bits_of(i);
      std::memcpy(memory[i], bits.data(), bits.size());
    }
  };
  const std::vector<Address> addresses = host_addresses(memory);
  executor.run(addresses);
  Trained trained;
  for (int i = 1; i < steps; ++i) {
    feed_back();
    executor.record(i + 1 == steps);  // the last is timed, which changes nothing
    trained.allocations += count_allocations([&] { executor.run(addresses); }).allocations;
  }
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) trained.bits.push_back(bits_of(i));
  return trained;
}

void expect_laws(const tiny::TinyModel& model) {
  const Graph graph = prepare_graph(model.step);
  const Plan plan = make_plan(graph, test_target());
  const Trained one = train(model, graph, plan, 1, 3), two = train(model, graph, plan, 2, 3);
  EXPECT_EQ(one.bits.size(), model.state + 1);
  EXPECT_TRUE(one.bits == two.bits) << model.name << ": bits depend on the number of threads";
  EXPECT_EQ(one.allocations, 0) << model.name << ", one thread";
  EXPECT_EQ(two.allocations, 0) << model.name << ", two threads";
  EXPECT_TRUE(train(model, graph, plan, 2, 3).bits == two.bits) << model.name << ": a second series differs";
}

TEST(TrainingSteps, WouldBeSeenAllocating) {
  if (!hooked) GTEST_SKIP() << "the sanitizer owns the allocator";
  void* volatile kept = nullptr;
  EXPECT_EQ(count_allocations([&] { kept = std::malloc(100); }).allocations, 1);
  std::free(kept);
}
TEST(TrainingSteps, AnMlpAllocatesNothingAndHasTheSameBitsWithOneAndTwoThreads) { expect_laws(mlp()); }
TEST(TrainingSteps, SoDoesAGpt) { expect_laws(gpt(4, 32)); }
TEST(TrainingSteps, SoDoesAGptOfLongContext) { expect_laws(gpt(1, 300)); }
TEST(TrainingSteps, SoDoesAResNet) { expect_laws(resnet18()); }
TEST(TrainingSteps, SoDoesAUNet) { expect_laws(unet()); }
TEST(TrainingSteps, SoDoesAnLstm) { expect_laws(lstm()); }

}  // namespace
}  // namespace tidemark
