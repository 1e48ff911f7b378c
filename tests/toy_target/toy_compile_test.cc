// compile() on a device whose addresses are no pointers of the host: the same bits as on the CPU, whatever
// the options, and tensors that lie where they should.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/on_threads.h"
#include "tests/support/scratch_folder.h"
#include "tests/toy_target/toy_device.h"
#include "tidemark/nn/models.h"
#include "tidemark/tidemark.h"
#include "tidemark/trace/dlpack_abi.h"

namespace tidemark::testing {
namespace {

using namespace tidemark::literals;
using ::testing::HasSubstr;

constexpr DeviceId on_toy{DeviceKind::extension, 0};

Tensor waves(const Shape& shape, double frequency) {
  return sin(reshape(arange(element_count(shape), DType::f32), shape) * frequency);
}

template <class Tree>
std::vector<std::vector<std::byte>> bits(const Tree& tree) {
  std::vector<std::vector<std::byte>> list;
  for (const Tensor& tensor : tensors_of(tree)) list.push_back(bits_of(tensor));
  return list;
}

// f fails so, and says so.
void expect_error(const std::function<void()>& f, ErrorCode code, const std::string& says) {
  try {
    f();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(says));
  }
}

nn::Mlp small_mlp() { return nn::Mlp::init(key(0), {16, 64, 64, 10}); }
Tensor mlp_loss(const nn::Mlp& net, const Tensor& x, const Tensor& y) { return mean(square(net(x) - y)); }
const Tensor x = waves({64, 16}, 0.3), y = waves({64, 10}, 0.7);

TEST(ToyCompile, GivesTheBitsOfTheCpuWithAndWithoutABudget) {
  const auto f = value_and_grad(mlp_loss);
  const nn::Mlp net = small_mlp();
  const auto expected = bits(compile(f)(net, x, y));
  const auto device = std::make_shared<ToyDevice>();
  const auto free = compile(f, {.device = device});
  EXPECT_EQ(bits(free(net, x, y)), expected);
  EXPECT_EQ(free.plan().plan.target, "toy");
  const Bytes least = free.smallest(net, x, y).memory, most = free.plan().peak();
  EXPECT_LT(least, most);
  for (const Bytes budget : {least, Bytes((least.count + most.count) / 2), most}) {
    const auto step = compile(f, {.memory = budget, .device = device});
    EXPECT_EQ(bits(step(net, x, y)), expected) << budget.count;
    EXPECT_LE(step.plan().peak(), budget);
    EXPECT_LE(step.arena_high_water().count, step.plan().plan.arena_bytes);
  }
  EXPECT_THROW(compile(f, {.memory = least - Bytes(1), .device = device})(net, x, y), InfeasibleBudget);
}

TEST(ToyCompile, ResultsLieOnTheDeviceUnlessTheyAreSmall) {
  const auto device = std::make_shared<ToyDevice>();
  const auto f = compile([](Tensor a) { return std::pair(exp(a) + 1, sum(a)); }, {.device = device});
  const Tensor large = waves({5000}, 0.1);
  const auto [first, total] = f(large);
  EXPECT_EQ(first.device(), on_toy);
  EXPECT_EQ(total.device(), DeviceId());
  EXPECT_EQ(large.device(), DeviceId()) << "an argument that is not donated stays";
  const auto second = f(large * 2).first;
  EXPECT_EQ(bits(first), bits(exp(large) + 1)) << "moved to memory of its own on the device";
  EXPECT_EQ(first.device(), on_toy);
  EXPECT_EQ(bits(second), bits(exp(large * 2) + 1));
  EXPECT_EQ(device->counts().copies, 1);
}

TEST(ToyCompile, ReadingFetchesOnceAndOpsAtOnceRunOnTheHost) {
  const auto device = std::make_shared<ToyDevice>();
  const Tensor there = to_device(waves({300}, 0.2), device);
  EXPECT_EQ(there.device(), on_toy);
  const int before = device->counts().reads;
  EXPECT_EQ(there.to_vector(), waves({300}, 0.2).to_vector());
  EXPECT_EQ(there.data<float>()[7], waves({300}, 0.2).data<float>()[7]);
  EXPECT_EQ(to_string(there), to_string(waves({300}, 0.2)));
  const Tensor sum_of_both = there + there;
  EXPECT_EQ(sum_of_both.device(), DeviceId());
  EXPECT_EQ(bits(sum_of_both), bits(waves({300}, 0.2) * 2));
  EXPECT_EQ(device->counts().reads, before + 1);
}

TEST(ToyCompile, TensorsGoToTheDeviceAndBack) {
  const auto device = std::make_shared<ToyDevice>(), other = std::make_shared<ToyDevice>();
  const nn::Mlp net = small_mlp();
  const nn::Mlp there = to_device(net, device);
  for (const Tensor& tensor : tensors_of(there)) EXPECT_EQ(tensor.device(), on_toy);
  const nn::Mlp again = to_device(there, device);
  EXPECT_EQ(again.layers[0].weight.storage(), there.layers[0].weight.storage()) << "it lies there already";
  const nn::Mlp elsewhere = to_device(there, other), back = to_host(elsewhere);
  for (const Tensor& tensor : tensors_of(back)) EXPECT_EQ(tensor.device(), DeviceId());
  EXPECT_EQ(bits(back), bits(net));
  EXPECT_EQ(to_host(net).layers[0].weight.storage(), net.layers[0].weight.storage());
  EXPECT_TRUE(to_device(Tensor(), device).empty());
  EXPECT_EQ(to_device(zeros({0, 3}), device).device(), on_toy);
  EXPECT_EQ(to_host(to_device(zeros({0, 3}), device)).count(), 0);
  EXPECT_THROW(to_device(net, nullptr), Error);
}

TEST(ToyCompile, ArgumentsOnTheDeviceAreUsedInPlace) {
  const auto device = std::make_shared<ToyDevice>();
  const nn::Mlp net = small_mlp(), there = to_device(net, device);
  const auto f = compile(mlp_loss, {.device = device});
  const auto expected = bits(mlp_loss(net, x, y));
  EXPECT_EQ(bits(f(there, x, y)), expected);
  const ToyDevice::Counts before = device->counts();
  EXPECT_EQ(bits(f(there, x, y)), expected);
  const ToyDevice::Counts after = device->counts();
  EXPECT_EQ(after.writes - before.writes, 2) << "x and y";
  EXPECT_EQ(after.bytes_written - before.bytes_written, x.type().bytes() + y.type().bytes());
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_EQ(f.memory_report().arguments, Bytes(x.type().bytes() + y.type().bytes()));
  EXPECT_EQ(f.memory_report().device, "toy");
  EXPECT_THAT(f.memory_report().text(), HasSubstr("for those that come from the host"));
  EXPECT_EQ(bits(f(to_device(there, std::make_shared<ToyDevice>()), x, y)), expected) << "through the host";
}

TEST(ToyCompile, TheSameTensorTwiceIsCopiedOnce) {
  const auto device = std::make_shared<ToyDevice>();
  const auto f = compile([](Tensor a, Tensor b, Tensor c) { return sum(a * b - c); }, {.device = device});
  const Tensor a = waves({3000}, 0.1), c = waves({3000}, 0.4);
  EXPECT_EQ(bits(f(a, a, c)), bits(sum(a * a - c)));
  EXPECT_EQ(device->counts().writes, 2);
  EXPECT_EQ(bits(f(a, c, a)), bits(sum(a * c - a)));
}

// State, donated: the same bits as on the CPU. Where every update is in place, it is copied to the device
// once, and no memory is asked for once a loop goes on.
template <class Optimizer, class Model, class Loss, class... Data>
void train(const Optimizer& optimizer, bool in_place, const Model& start, const Loss& loss,
           const std::optional<double>& share, const Data&... data) {
  const auto device = std::make_shared<ToyDevice>(toy_target_in_place());
  CompileOptions options{.donate = {0}, .device = device, .effort = 0.02};
  if (share) {
    const Bytes least =
        compile(optim::step(optimizer, loss), options).smallest(optimizer.init(start), data...).memory;
    options.memory = Bytes(static_cast<std::int64_t>(*share * static_cast<double>(least.count)));
  }
  const auto there = compile(optim::step(optimizer, loss), options);
  const auto here = compile(optim::step(optimizer, loss), {.donate = {0}});
  const auto copied = [](const Tensor& t) { return t + cast(scalar(0), t.dtype()); };
  auto state = map_tree(copied, optimizer.init(start)), reference = map_tree(copied, optimizer.init(start));
  ToyDevice::Counts steady;
  for (int i = 0; i < 4; ++i) {
    if (i == 1) steady = device->counts();
    const auto [next, value] = there(state, data...);
    const auto [next_here, value_here] = here(reference, data...);
    state = next, reference = next_here;
    EXPECT_EQ(bits(value), bits(value_here)) << i;
  }
  const ToyDevice::Counts after = device->counts();
  std::int64_t batch = 0;
  for (const Tensor& tensor : {data...}) batch += tensor.type().bytes();
  EXPECT_EQ(bits(state), bits(reference));
  const std::int64_t small = in_place ? 8 : 4096;  // of the number of updates
  for (const Tensor& tensor : tensors_of(state)) {
    if (tensor.type().bytes() > small) EXPECT_EQ(tensor.device(), on_toy);
  }
  if (!in_place) return;
  EXPECT_LE(after.bytes_written - steady.bytes_written, 3 * (batch + small)) << "state was copied again";
  EXPECT_EQ(after.allocations, steady.allocations);
  EXPECT_EQ(after.copies, 0);
  if (share) EXPECT_LE(after.bytes, options.memory->count + 256 * static_cast<std::int64_t>(sizeof...(data)));
}

TEST(ToyCompile, TrainsAnMlp) {
  train(optim::Sgd{.lr = 1e-2}, true, small_mlp(), mlp_loss, {}, x, y);
  train(optim::Sgd{.lr = 1e-2}, true, small_mlp(), mlp_loss, 1.05, x, y);
  train(optim::AdamW{.lr = 1e-3}, false, small_mlp(), mlp_loss, {}, x, y);
  train(optim::AdamW{.lr = 1e-3}, false, small_mlp(), mlp_loss, 1.05, x, y);
}

TEST(ToyCompile, TrainsAGpt) {
  const nn::GptConfig config{.layers = 2, .width = 32, .heads = 4, .vocabulary = 64, .context = 16};
  const Tensor tokens = cast(floor(random_uniform(key(7), {2, 16}, 0, 64)), DType::i32), next = 63 - tokens;
  const auto loss = [](const nn::Gpt& model, const Tensor& in, const Tensor& out) {
    return model.loss(in, out);
  };
  const nn::Gpt start = nn::Gpt::init(key(0), config);
  train(optim::Sgd{.lr = 1e-2}, true, start, loss, {}, tokens, next);
  train(optim::AdamW{.lr = 1e-3}, false, start, loss, {}, tokens, next);
  train(optim::AdamW{.lr = 1e-3}, false, start, loss, 1.05, tokens, next);
}

TEST(ToyCompile, StateOfADeviceThatOverwritesNothingMovesFromResultToArgument) {
  const auto device = std::make_shared<ToyDevice>();
  const auto step =
      compile([](Tensor s, Tensor d) { return s * 0.5 + d; }, {.donate = {0}, .device = device});
  const Tensor d = waves({4000}, 0.1);
  Tensor state = waves({4000}, 0.3), reference = waves({4000}, 0.3);
  for (int i = 0; i < 3; ++i) {
    state = step(state, d);
    reference = reference * 0.5 + d;
  }
  EXPECT_EQ(bits(state), bits(reference));
}

TEST(ToyCompile, HandlesToWhatWasDonatedAreStale) {
  const auto device = std::make_shared<ToyDevice>(toy_target_in_place());
  const auto step = compile([](Tensor s) { return s * 0.5; }, {.donate = {0}, .device = device});
  const Tensor state = waves({4000}, 0.3);
  const Tensor next = step(state);
  EXPECT_EQ(next.storage(), state.storage());
  EXPECT_EQ(next.device(), on_toy);
  EXPECT_THROW((void)state.item(), Error);
  EXPECT_THROW(step(state), Error);
  const std::vector<double> before = next.to_vector();
  const Tensor last = step(next);
  EXPECT_NE(last.to_vector(), before) << "the copy on the host is of what it was";
  EXPECT_EQ(bits(last), bits(waves({4000}, 0.3) * 0.5 * 0.5));
}

TEST(ToyCompile, StateGoesBetweenDevices) {
  const auto one = std::make_shared<ToyDevice>(toy_target_in_place()),
             two = std::make_shared<ToyDevice>(toy_target_in_place());
  const auto f = [](Tensor s) { return s * 0.5 + 1; };
  const auto on_one = compile(f, {.donate = {0}, .device = one}),
             on_two = compile(f, {.donate = {0}, .device = two});
  const auto on_cpu = compile(f, {.donate = {0}});
  Tensor state = waves({4000}, 0.3), reference = waves({4000}, 0.3);
  for (int round = 0; round < 2; ++round) {
    state = on_cpu(on_two(on_one(state)));
    reference = f(f(f(reference)));
    EXPECT_EQ(state.device(), DeviceId());
  }
  EXPECT_EQ(bits(state), bits(reference));
  const auto reads = compile([](Tensor a, Tensor b) { return a + b; });
  EXPECT_EQ(bits(reads(to_device(state, one), to_device(state, two))), bits(state * 2));
}

TEST(ToyCompile, LoopsAndBranchesRun) {
  const auto device = std::make_shared<ToyDevice>();
  const auto f = [](Tensor a) {
    const Tensor walked = repeat(
        40, [](Tensor s) { return tanh(s * 1.1) + 0.01; }, a);
    const Tensor grown =
        while_loop([](Tensor s) { return sum(s) < 1000; }, [](Tensor s) { return s * 2 + 1; }, abs(a));
    return sum(walked) + sum(cond(
                             sum(a) > 0, [&] { return grown; }, [&] { return grown * 3; }));
  };
  const auto g = grad([](Tensor a) {
    return sum(repeat(
        40, [](Tensor s) { return tanh(s * 1.1) + 0.01; }, a));
  });
  const Tensor a = waves({2000}, 0.01);
  EXPECT_EQ(bits(compile(f, {.device = device})(a)), bits(f(a)));
  EXPECT_EQ(bits(compile(f, {.device = device})(-a)), bits(f(-a)));
  const auto free = compile(g, {.device = device});
  EXPECT_EQ(bits(free(a)), bits(compile(g)(a)));
  const Bytes budget = Bytes(free.plan().peak().count / 2);
  EXPECT_EQ(bits(compile(g, {.memory = budget, .device = device})(a)), bits(compile(g)(a)));
}

TEST(ToyCompile, BatchesUpToALargestAndMicroBatches) {
  const auto device = std::make_shared<ToyDevice>();
  const auto f = grad(mlp_loss);
  const nn::Mlp net = small_mlp();
  const auto largest = compile(f, {.device = device, .max_batch = 64});
  for (const std::int64_t batch : {64, 32, 48}) {
    const Tensor bx = x.at(Range{0, batch}), by = y.at(Range{0, batch});
    EXPECT_EQ(bits(largest(net, bx, by)), bits(compile(f)(net, bx, by))) << batch;
  }
  const auto cut = compile(f, {.device = device, .accumulate = 4});
  EXPECT_EQ(bits(cut(net, x, y)), bits(compile(f, {.accumulate = 4})(net, x, y)));
  const auto automatic_cut = compile(
      f, {.memory = Bytes(cut.plan().peak().count + 4096), .device = device, .accumulate = automatic});
  EXPECT_LE(automatic_cut.prepare(net, x, y).peak(), Bytes(cut.plan().peak().count + 4096));
}

TEST(ToyCompile, ReportsOfBudgetsAreForTheDevice) {
  const auto device = std::make_shared<ToyDevice>();
  const auto f = compile(grad(mlp_loss), {.memory = 1_MiB, .device = device});
  const nn::Mlp net = small_mlp();
  const auto points = f.frontier(net, x, y);
  ASSERT_FALSE(points.empty());
  EXPECT_EQ(points.front().budget, f.smallest(net, x, y).memory);
  const auto footprint = f.footprint(net, x, y);
  ASSERT_TRUE(footprint);
  EXPECT_FALSE(f.prices(net, x, y).empty());
  EXPECT_EQ(f.gradient_error(net, x, y).largest, 0);
  Machine fast = reference_machine();
  fast.name = "fast";
  EXPECT_NO_THROW(compile(grad(mlp_loss), {.machine = fast, .device = device}).prepare(net, x, y));
}

TEST(ToyCompile, AnotherBudgetGivesMemoryBack) {
  const auto device = std::make_shared<ToyDevice>();
  const auto f = compile(grad(mlp_loss), {.memory = 1_MiB, .device = device});
  const nn::Mlp net = small_mlp();
  const auto expected = bits(f(net, x, y));
  const Bytes least = f.smallest(net, x, y).memory;
  const std::int64_t before = device->counts().bytes;
  f.set_memory(least);
  EXPECT_EQ(f.memory_report().arguments.count, 0);
  EXPECT_EQ(bits(f(net, x, y)), expected);
  EXPECT_LT(device->counts().bytes, before);
}

TEST(ToyCompile, HeldResultsCountInBytesOfTheDevice) {
  const auto device = std::make_shared<ToyDevice>();
  const auto f = [](Tensor a) { return exp(a) + 1; };
  const Tensor a = waves({4000}, 0.1);
  const Bytes budget = compile(f, {.device = device}).prepare(types_of(a)).peak();
  const auto step = compile(f, {.memory = budget, .device = device});
  Tensor held = step(a);
  EXPECT_EQ(step.memory_report().held_results.count, 16000);
  EXPECT_EQ(step.memory_report().results_in_arena.count, 16000);
  EXPECT_THROW(held = step(a), Error);
  EXPECT_EQ(bits(held), bits(f(a))) << "nothing is lost";
  held = to_host(held);
  EXPECT_EQ(step.memory_report().held_results.count, 0) << "it lies on the host now";
  held = step(a);
  EXPECT_EQ(bits(held), bits(f(a)));
  held = compile([](Tensor s) { return s * 2; }, {.donate = {0}})(held);
  EXPECT_EQ(held.device(), DeviceId());
  EXPECT_EQ(step.memory_report().held_results.count, 0) << "a function of the CPU was given it";
  EXPECT_NO_THROW(step(a));
}

TEST(ToyCompile, TheArgumentsMemoryStaysInsideTheBudget) {
  const auto device = std::make_shared<ToyDevice>();
  const auto f = [](Tensor a, Tensor b) { return sum(a * b); };
  const Tensor a = waves({1024}, 0.1), b = waves({1024}, 0.2);
  const Bytes budget = compile(f, {.device = device}).prepare(types_of(a), types_of(b)).peak();
  const auto step = compile(f, {.memory = budget, .device = device});
  EXPECT_EQ(bits(step(a, b)), bits(f(a, b)));
  EXPECT_EQ(device->counts().bytes, budget.count);
  const Tensor there = to_device(a, device);
  EXPECT_EQ(bits(step(there, b)), bits(f(a, b)));
  EXPECT_EQ(device->counts().bytes, budget.count) << "room for the first argument was given back";
}

TEST(ToyCompile, FailingCallsLeaveStateAsItWas) {
  const auto device = std::make_shared<ToyDevice>(toy_target_in_place());
  const auto f = [](Tensor table, Tensor other, Tensor i) {
    const Tensor next = table * 0.5 + sum(take(table, i, 0));
    return std::pair(next, other - 1);
  };
  const auto step = compile(f, {.donate = {0, 1}, .device = device});
  const Tensor good = tensor<std::int64_t>({0, 4, 2}), bad = tensor<std::int64_t>({0, 5, 2});
  Tensor table = waves({5, 300}, 0.7), other = waves({2000}, 0.2);
  auto expected = std::pair(table + 0, other + 0);
  for (int i = 0; i < 3; ++i) {  // first on the host, then on the device
    expect_error([&] { step(table, other, bad); }, ErrorCode::index_out_of_range, "toy_compile_test.cc");
    EXPECT_EQ(bits(std::pair(table, other)), bits(expected)) << i;
    expected = f(expected.first, expected.second, good);
    std::tie(table, other) = step(table, other, good);
    EXPECT_EQ(bits(std::pair(table, other)), bits(expected)) << i;
    EXPECT_EQ(table.device(), on_toy);
  }
}

// The machine may fail when state has been written. What lay on the host is still there.
TEST(ToyCompile, WhenTheMachineFailsStateThatWasOnTheHostIsNotLost) {
  const auto device = std::make_shared<ToyDevice>(toy_target_in_place());
  const auto f = [](Tensor a, Tensor b) { return std::pair(a * 0.5, b * 0.25); };
  const auto step = compile(f, {.donate = {0, 1}, .device = device});
  Tensor a = waves({3000}, 0.1), b = waves({3000}, 0.2);
  device->fail_at(1);
  expect_error([&] { step(a, b); }, ErrorCode::out_of_memory, "the toy broke");
  EXPECT_EQ(bits(std::pair(a, b)), bits(std::pair(waves({3000}, 0.1), waves({3000}, 0.2))));
  std::tie(a, b) = step(a, b);
  EXPECT_EQ(bits(std::pair(a, b)), bits(f(waves({3000}, 0.1), waves({3000}, 0.2))));
  device->fail_at(1);
  expect_error([&] { step(a, b); }, ErrorCode::out_of_memory, "toy_compile_test.cc");
  expect_error([&] { (void)a.to_vector(); }, ErrorCode::traced_value_read, "was lost when a function failed");
}

TEST(ToyCompile, WhenTheDeviceHasTooLittleMemoryTheErrorNamesTheLineAndTheFunctionStaysUsable) {
  const auto device = std::make_shared<ToyDevice>(toy_target_in_place());
  const auto step = compile([](Tensor s, Tensor d) { return std::pair(s * 0.5, exp(d) * d); },
                            {.donate = {0}, .device = device});
  const Tensor d = waves({4000}, 0.1);
  Tensor state = waves({4000}, 0.3);
  const auto expected = bits(std::pair(state * 0.5, exp(d) * d));
  // The arena, then the state, then the argument do not fit.
  const std::int64_t arena = step.prepare(types_of(state), types_of(d)).plan.arena_bytes;
  for (const std::int64_t memory : {std::int64_t{0}, arena, arena + 16000, arena + 16128}) {
    device->set_memory(memory);
    expect_error([&] { step(state, d); }, ErrorCode::out_of_memory, "toy_compile_test.cc");
    EXPECT_EQ(bits(state), bits(waves({4000}, 0.3))) << memory;
  }
  device->set_memory(1 << 30);
  auto results = step(state, d);
  EXPECT_EQ(bits(results), expected);
  // A result that is held cannot move out.
  device->set_memory(device->counts().bytes);
  expect_error([&] { step(results.first, d); }, ErrorCode::out_of_memory, "toy_compile_test.cc");
  EXPECT_EQ(bits(results), expected);
  results.second = Tensor();
  EXPECT_NO_THROW(step(results.first, d));
  expect_error([&] { to_device(d, device); }, ErrorCode::out_of_memory, "toy_compile_test.cc");
}

TEST(ToyCompile, AllMemoryGoesBackAlsoWhenAResultHadNoneToMoveTo) {
  const auto device = std::make_shared<ToyDevice>();
  Tensor held;
  {
    const auto f = compile([](Tensor a) { return exp(a) + 1; }, {.device = device});
    held = f(waves({4000}, 0.1));
    device->set_memory(device->counts().bytes);
  }
  EXPECT_EQ(bits(held), bits(exp(waves({4000}, 0.1)) + 1));
  held = Tensor();
  EXPECT_EQ(device->blocks(), 0u);
  EXPECT_EQ(device->counts().bytes, 0);
}

TEST(ToyCompile, CapturedTensorsLieAnywhere) {
  const auto device = std::make_shared<ToyDevice>();
  Tensor here = waves({3000}, 0.1), there = to_device(waves({3000}, 0.2), device);
  Tensor elsewhere = to_device(waves({3000}, 0.3), std::make_shared<ToyDevice>());
  const auto f = [&](const Tensor& a) { return a * here + there * elsewhere + arange(3000, DType::f32); };
  const auto compiled = compile(f, {.device = device});
  const Tensor a = waves({3000}, 0.5);
  EXPECT_EQ(bits(compiled(a)), bits(f(a)));
  here = to_device(here * 2, device);
  there = to_host(there) - 1;
  EXPECT_EQ(bits(compiled(a)), bits(f(a)));
  EXPECT_EQ(compiled.memory_report().calls, 1u) << "where a tensor lies means no other trace";
}

TEST(ToyCompile, ConstantsOfATraceAreCopiedOnce) {
  const auto device = std::make_shared<ToyDevice>();
  const std::vector<double> numbers = waves({3000}, 0.4).to_vector();
  const auto f = [&](const Tensor& a) { return sum(a * tensor(numbers)); };
  const auto compiled = compile(f, {.device = device});
  const Tensor a = cast(waves({3000}, 0.5), DType::f64);
  EXPECT_EQ(bits(compiled(a)), bits(f(a)));
  EXPECT_EQ(compiled.memory_report().constants.count, 24000);
  const std::int64_t before = device->counts().bytes_written;
  EXPECT_EQ(bits(compiled(a)), bits(f(a)));
  EXPECT_EQ(device->counts().bytes_written - before, 24000) << "the argument alone";
}

TEST(ToyCompile, ThreadsCallAtOnce) {
  const auto device = std::make_shared<ToyDevice>();
  const nn::Mlp net = to_device(small_mlp(), device);
  const auto expected = bits(compile(grad(mlp_loss))(net, x, y));
  const auto free = compile(grad(mlp_loss), {.device = device});
  const auto tight = compile(grad(mlp_loss), {.memory = 1_MiB, .device = device});
  on_threads(4, [&](int) {
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(bits(free(net, x, y)), expected);
      EXPECT_EQ(bits(tight(net, x, y)), expected);
    }
  });
}

TEST(ToyCompile, ThreadsReadOneTensor) {
  const auto device = std::make_shared<ToyDevice>();
  const auto f = compile([](Tensor a) { return a * 2; }, {.device = device});
  for (int round = 0; round < 20; ++round) {
    const Tensor there = f(waves({3000}, 0.1 + round));
    const auto expected = (waves({3000}, 0.1 + round) * 2).to_vector();
    on_threads(4, [&](int thread) {
      if (thread == 3) f(waves({3000}, 0.2));  // its arena is needed meanwhile
      EXPECT_EQ(there.to_vector(), expected);
    });
  }
}

TEST(ToyCompile, FilesAndOtherLibrariesGetTheValues) {
  const auto device = std::make_shared<ToyDevice>();
  const nn::Mlp net = small_mlp(), there = to_device(net, device);
  const ScratchFolder folder;
  save(folder.path("net.safetensors"), there);
  nn::Mlp loaded = small_mlp();
  load(folder.path("net.safetensors"), loaded);
  EXPECT_EQ(bits(loaded), bits(net));
  DLManagedTensor* const lent = to_dlpack(there.layers[0].weight);
  EXPECT_EQ(lent->dl_tensor.device.device_type, kDLCPU);
  EXPECT_EQ(bits(from_dlpack(lent)), bits(net.layers[0].weight));
}

TEST(ToyCompile, DisksAreTheCpus) {
  const auto device = std::make_shared<ToyDevice>();
  const auto f = [](Tensor a) { return exp(a); };
  const auto with_disk = compile(f, {.memory = 1_MiB, .disk = DiskBudget{"/tmp", 1_GiB}, .device = device});
  expect_error([&] { with_disk(x); }, ErrorCode::bad_plan_option,
               "a disk for a function that runs on the device `toy`");

  // A loop that asks for one keeps to memory.
  const auto g = grad([](Tensor a) {
    return sum(repeat(40, [](Tensor s) { return tanh(s * 1.1); }, a, {.memory = 64_KiB, .disk = 1_GiB}));
  });
  const auto loop = compile(g, {.device = device});
  EXPECT_EQ(bits(loop(waves({2000}, 0.1))), bits(g(waves({2000}, 0.1))));
  EXPECT_TRUE(loop.plan().plan.further.empty());
}

// The toy's machine with memory of the host that is near.
Machine machine_with_host() {
  Machine machine = reference_machine();
  machine.further = {{.name = std::string(host_memory_name), .bytes = std::int64_t{1} << 40}};
  machine.links = {{.from = 0, .to = 1, .latency = 1e-6, .bandwidth = 6e9, .beside_compute = 6e9},
                   {.from = 1, .to = 0, .latency = 1e-6, .bandwidth = 6e9, .beside_compute = 6e9}};
  machine.codecs.clear();
  return machine;
}

TEST(ToyCompile, ValuesWaitInTheHostsMemoryWhichIsCounted) {
  const auto f = value_and_grad(mlp_loss);
  const nn::Mlp net = nn::Mlp::init(key(0), {16, 64, 64, 64, 64, 64, 10});
  const Tensor in = waves({256, 16}, 0.3), out = waves({256, 10}, 0.7);
  const auto expected = bits(compile(f)(net, in, out));
  const auto device = std::make_shared<ToyDevice>();
  const auto once = compile(f, {.allow = {Choice::keep}, .device = device});
  const Bytes least = once.smallest(net, in, out).memory;
  const CompileOptions options{.memory = least - 64_KiB,
                               .host = 1_MiB,
                               .allow = {Choice::host},
                               .machine = machine_with_host(),
                               .device = device};
  const auto step = compile(f, options);
  for (int call = 0; call < 3; ++call) EXPECT_EQ(bits(step(net, in, out)), expected);
  const Plan& plan = step.plan().plan;
  EXPECT_LT(step.plan().peak(), least);
  ASSERT_EQ(plan.further.size(), 1u);
  EXPECT_EQ(plan.further[0].name, "host");
  EXPECT_GT(plan.further[0].arena_bytes, 0);
  EXPECT_LE(plan.further[0].arena_bytes, (1_MiB).count);
  const FunctionMemory memory = step.memory_report();
  EXPECT_EQ(memory.host.count, plan.further[0].arena_bytes);
  EXPECT_EQ(memory.disk.count, 0);
  EXPECT_THAT(memory.text(), HasSubstr("for values that wait there"));

  // What is not named is not used, and said to help.
  CompileOptions without = options;
  without.allow = {Choice::keep};
  expect_error([&] { compile(f, without)(net, in, out); }, ErrorCode::infeasible_budget,
               "of the host's memory fits");
}

// And a disk behind it.
Machine machine_with_disk() {
  Machine machine = machine_with_host();
  machine.further.push_back({.name = std::string(disk_memory_name), .bytes = std::int64_t{1} << 40});
  machine.links.push_back({.from = 0, .to = 2, .latency = 1e-6, .bandwidth = 3e9, .beside_compute = 3e9});
  machine.links.push_back({.from = 2, .to = 0, .latency = 1e-6, .bandwidth = 3e9, .beside_compute = 3e9});
  return machine;
}

TEST(ToyCompile, ADeviceWithDisksKeepsValuesThereAndBothAreCounted) {
  const auto f = value_and_grad(mlp_loss);
  const nn::Mlp net = nn::Mlp::init(key(0), {16, 64, 64, 64, 64, 64, 10});
  const Tensor in = waves({256, 16}, 0.3), out = waves({256, 10}, 0.7);
  const auto expected = bits(compile(f)(net, in, out));
  const auto device = std::make_shared<ToyDevice>();
  device->pretend_disks("/broken");
  const Bytes least = compile(f, {.allow = {Choice::keep}, .device = device}).smallest(net, in, out).memory;
  CompileOptions options{.memory = least - 64_KiB,
                         .disk = DiskBudget{"/somewhere", 1_MiB},
                         .allow = {Choice::disk},
                         .machine = machine_with_disk(),
                         .device = device};
  {
    const auto step = compile(f, options);
    for (int call = 0; call < 3; ++call) EXPECT_EQ(bits(step(net, in, out)), expected);
    const Plan& plan = step.plan().plan;
    EXPECT_LT(step.plan().peak(), least);
    ASSERT_EQ(plan.further.size(), 1u);
    EXPECT_EQ(plan.further[0].name, "disk");
    const FunctionMemory memory = step.memory_report();
    EXPECT_GT(memory.disk.count, 0);
    EXPECT_EQ(memory.disk.count, plan.further[0].arena_bytes);
    EXPECT_EQ(memory.disk.count, device->counts().disk_bytes);
    EXPECT_EQ(memory.host.count, disk_staging_bytes) << "what copies go through";
    EXPECT_THAT(memory.text(), HasSubstr("or pass through"));
  }
  EXPECT_EQ(device->counts().disk_bytes, 0);

  // Both: what copies to the disk go through is taken of the host's memory, so that little is left of it.
  options.allow = {Choice::host, Choice::disk};
  options.host = Bytes(disk_staging_bytes + (16 << 10));
  const auto step = compile(f, options);
  EXPECT_EQ(bits(step(net, in, out)), expected);
  const Plan& plan = step.plan().plan;
  ASSERT_EQ(plan.further.size(), 2u);
  EXPECT_EQ(plan.further[0].name, "host");
  EXPECT_EQ(plan.further[0].budget, 16 << 10);
  EXPECT_EQ(plan.further[1].name, "disk");
  EXPECT_GT(plan.further[1].arena_bytes, 0);
  const FunctionMemory memory = step.memory_report();
  EXPECT_EQ(memory.disk.count, device->counts().disk_bytes);
  EXPECT_EQ(memory.host.count, plan.further[0].arena_bytes + disk_staging_bytes);
  EXPECT_LE(memory.host.count, options.host->count);

  options.host = Bytes(disk_staging_bytes);
  expect_error([&] { compile(f, options)(net, in, out); }, ErrorCode::bad_plan_option,
               "of the host's memory beside a disk");
}

TEST(ToyCompile, ADeviceWhoseDiskCannotBeOpenedFailsOrDoesWithout) {
  const auto f = [](Tensor a) { return exp(a); };
  const auto device = std::make_shared<ToyDevice>();
  device->pretend_disks("/broken");
  CompileOptions options{.memory = 1_MiB,
                         .disk = DiskBudget{"/broken", 1_MiB},
                         .machine = machine_with_disk(),
                         .device = device};
  expect_error([&] { (void)compile(f, options); }, ErrorCode::bad_file, "the toy's disk is broken");
  options.disk->fallback = true;
  const auto without = compile(f, options);
  EXPECT_EQ(bits(without(x)), bits(f(x)));
  EXPECT_EQ(without.memory_report().disk_failure, "the toy's disk is broken");
  EXPECT_TRUE(without.plan().plan.further.empty());
}

// A loop that asks for a disk finds none on a device whose function was given none, whatever else that was
// given.
TEST(ToyCompile, ALoopWithADiskBesideTheHostsMemoryDoesWithout) {
  const auto f = value_and_grad([](const nn::Mlp& net, Tensor in, Tensor out) {
    const auto step = [](Tensor s) { return tanh(s * 1.1); };
    return mlp_loss(net, repeat(10, step, in, {.memory = 64_KiB, .disk = 1_GiB}), out);
  });
  const nn::Mlp net = nn::Mlp::init(key(0), {16, 64, 64, 64, 64, 64, 10});
  const Tensor in = waves({256, 16}, 0.3), out = waves({256, 10}, 0.7);
  const auto device = std::make_shared<ToyDevice>();
  const Bytes least = compile(f, {.allow = {Choice::keep}, .device = device}).smallest(net, in, out).memory;
  const auto step = compile(f, {.memory = least - 64_KiB,
                                .host = 1_MiB,
                                .allow = {Choice::host},
                                .machine = machine_with_host(),
                                .device = device});
  EXPECT_EQ(bits(step(net, in, out)), bits(compile(f)(net, in, out)));
  EXPECT_FALSE(step.plan().plan.further.empty());
}

TEST(ToyCompile, MemoryOfTheHostThatMakesNoSenseIsRefused) {
  const auto device = std::make_shared<ToyDevice>();
  const auto refused = [&](const CompileOptions& options, const std::string& says) {
    const auto f = compile([](Tensor a) { return exp(a); }, options);
    expect_error([&] { f(x); }, ErrorCode::bad_plan_option, says);
  };
  refused({.memory = 1_MiB, .host = 1_GiB}, "memory of the host for a function that runs on the CPU");
  refused({.host = 1_GiB, .device = device}, "memory of the host without a budget of memory");
  refused({.memory = 1_MiB, .host = 0_B, .device = device}, "0 bytes of the host's memory");
  refused({.memory = 1_MiB, .host = 1_GiB, .device = device}, "has no memory `host`");
  refused({.memory = 1_MiB, .allow = {Choice::host}, .device = device}, "allow names host");
}

// A target without kernels for some ops.
const ExecutionFacts* few_facts(const Op& op) {
  return op.name == "softmax" || op.name == "sort" ? nullptr : toy_target().find(op);
}
const Target few{.name = "few", .alignment = 256, .find = few_facts};

TEST(ToyCompile, WhatHasNoKernelThereIsExpandedOrRefusedByItsLine) {
  const auto device = std::make_shared<ToyDevice>(few);
  const auto expanded = compile([](Tensor a) { return softmax(a, 1); }, {.device = device});
  const Tensor result = expanded(x);
  for (const Node& node : expanded.plan().graph.nodes()) EXPECT_NE(node.op->name, "softmax");
  EXPECT_THAT(result.to_vector(),
              ::testing::Pointwise(::testing::FloatNear(1e-6), softmax(x, 1).to_vector()));
  const auto refused = compile([](Tensor a) { return sort(a, 1); }, {.device = device});
  expect_error([&] { refused(x); }, ErrorCode::no_kernel, "sort cannot run on `few`");
}

}  // namespace
}  // namespace tidemark::testing
