// Plans that were saved, as a user compiles from them: the same bits without a search, one file for each
// graph, and files that are missing, of something else, damaged or hostile.
#include "tidemark/engine/saved_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <thread>

#include "tests/support/errors.h"
#include "tests/support/scratch_folder.h"
#include "tidemark/plan/report/plan_json.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using namespace literals;
using testing::code_of;
using ::testing::HasSubstr;
using testing::ScratchFolder;

struct SavedNet {
  std::vector<Tensor> weights;
  TM_FIELDS(SavedNet, weights)
};
Tensor saved_loss(const SavedNet& net, Tensor x) {
  for (const Tensor& w : net.weights) x = gelu(matmul(x, w));
  return mean(square(x));
}
SavedNet saved_net(int layers = 6, std::int64_t width = 32) {
  SavedNet made;
  for (int i = 0; i < layers; ++i) made.weights.push_back(random_normal(key(i), {width, width}, 0, 0.2));
  return made;
}
Tensor saved_batch(std::int64_t rows = 256, std::int64_t width = 32) {
  return random_normal(key(99), {rows, width});
}

template <class Tree>
std::vector<double> numbers_of(const Tree& tree) {
  std::vector<double> all;
  for (const Tensor& t : tensors_of(tree)) {
    const std::vector<double> part = t.to_vector();
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

std::string message_of(ErrorCode code, const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_THAT(error.what(), HasSubstr("saved_plan_test.cc"));
    return error.what();
  }
  return "no error";
}

// The same function without a plan and with it: the same plan, the same bits, and nobody searched.
template <class F, class... Args>
void expect_the_same(const F& f, CompileOptions options, const Args&... args) {
  const ScratchFolder folder;
  int searched = 0;
  options.progress = [&](const PlanProgress&) { return ++searched > 0; };
  const auto first = compile(f, options);
  const std::vector<double> expected = numbers_of(first(args...));
  EXPECT_GT(searched, 0);
  first.save_plan(folder.path("plan.json"));

  searched = 0;
  options.plans = {folder.path("plan.json")};
  const auto again = compile(f, options);
  for (int run = 0; run < 2; ++run) EXPECT_EQ(numbers_of(again(args...)), expected);
  EXPECT_EQ(searched, 0);
  EXPECT_EQ(again.plan().to_json(), first.plan().to_json());
  EXPECT_EQ(again.arena_high_water(), first.arena_high_water());
  again.save_plan(folder.path("again.json"));
  EXPECT_EQ(folder.read("again.json"), folder.read("plan.json"));
}

TEST(SavedPlan, RunsWithTheSameBitsAndWithoutASearch) {
  const SavedNet net = saved_net();
  expect_the_same(value_and_grad(saved_loss), {}, net, saved_batch());
  expect_the_same(value_and_grad(saved_loss), {.memory = 260_KiB}, net, saved_batch());
  expect_the_same(value_and_grad(saved_loss), {.memory = 400_KiB, .held_results = 1}, net, saved_batch());
}

TEST(SavedPlan, HasWhatLoopsKeep) {
  const auto loss = [](Tensor w) {
    return sum(repeat(
        40, [&](Tensor h) { return tanh(matmul(h, w)) + gelu(h); }, ones({64, 32})));
  };
  const Tensor w = random_normal(key(1), {32, 32}, 0, 0.2);
  const auto smallest = compile(grad(loss)).smallest(w).memory;
  for (const Bytes memory : {Bytes(4_MiB), Bytes(500_KiB), Bytes(120_KiB), smallest})
    expect_the_same(grad(loss), {.memory = memory}, w);
}

TEST(SavedPlan, HasLoopsInLoopsAndTheirDisks) {
  const ScratchFolder folder;
  const auto loss = [](Tensor w) {
    return sum(repeat(
        6,
        [&](Tensor h) {
          return repeat(
              5, [&](Tensor g) { return tanh(matmul(g, w)); }, h);
        },
        ones({32, 32})));
  };
  const Tensor w = random_normal(key(1), {32, 32}, 0, 0.2);
  expect_the_same(grad(loss), {.memory = 60_KiB}, w);
  const auto on_disk = [&](Tensor v) {
    return sum(repeat(64, [&](Tensor h) { return tanh(matmul(h, v)) + gelu(h); }, ones({256, 32}),
                      {.memory = 256_KiB, .disk = 8_MiB, .folder = folder.path()}));
  };
  expect_the_same(grad(on_disk), {}, w);
}

TEST(SavedPlan, HasTheFormsInWhichValuesWait) {
  const SavedNet net = saved_net(8, 64);
  const auto masked = [](const SavedNet& n, Tensor x) {
    for (const Tensor& w : n.weights) x = relu(matmul(x, w));
    return mean(square(x));
  };
  const Bytes less(compile(value_and_grad(masked)).prepare(net, saved_batch(1024, 64)).peak().count * 2 / 3);
  expect_the_same(value_and_grad(masked), {.memory = less}, net, saved_batch(1024, 64));
  CompileOptions lossy{.memory = less, .lossy = Lossy{4e-3}};
  expect_the_same(value_and_grad(saved_loss), lossy, net, saved_batch(1024, 64));
}

TEST(SavedPlan, HasWhatIsUndone) {
  const auto loss = [](const SavedNet& net, const Tensor& x) {
    Tensor a = x, b = x * 0.5;
    for (const Tensor& w : net.weights) {
      const auto branch = [&](const Tensor& h) { return tanh(matmul(h, w)); };
      std::tie(a, b) = reversible(branch, branch)(a, b);
    }
    return mean(square(a)) + mean(sin(b));
  };
  const SavedNet net = saved_net(8, 16);
  const Bytes half(compile(grad(loss)).prepare(net, saved_batch(512, 16)).peak().count / 2);
  expect_the_same(grad(loss), {.memory = half}, net, saved_batch(512, 16));
}

TEST(SavedPlan, HasItsMicroBatches) {
  const SavedNet net = saved_net();
  expect_the_same(value_and_grad(saved_loss), {.accumulate = 4}, net, saved_batch());
  expect_the_same(value_and_grad(saved_loss), {.memory = 130_KiB, .accumulate = automatic}, net,
                  saved_batch());
  const ScratchFolder folder;
  const auto cut = compile(value_and_grad(saved_loss), {.accumulate = 4});
  cut(net, saved_batch());
  cut.save_plan(folder.path("cut.json"));
  EXPECT_THAT(message_of(ErrorCode::bad_plan_option,
                         [&] {
                           compile(value_and_grad(saved_loss), {.plans = {folder.path("cut.json")}})(
                               net, saved_batch());
                         }),
              HasSubstr("computes the batch in 4 micro-batches"));
}

TEST(SavedPlan, HasWaitingValuesOnADiskWhereThereIsOne) {
  const ScratchFolder folder;
  const SavedNet net = saved_net(8, 128);
  const Tensor x = saved_batch(2048, 128);
  const CompileOptions with{.memory = 7_MiB, .disk = {{folder.path(), 64_MiB}}, .effort = 0.1};
  expect_the_same(grad(saved_loss), with, net, x);
  const auto first = compile(grad(saved_loss), with);
  first(net, x);
  ASSERT_FALSE(first.plan().plan.further.empty());
  const ScratchFolder plans;
  first.save_plan(plans.path("disk.json"));
  CompileOptions without{.memory = 7_MiB, .plans = {plans.path("disk.json")}};
  EXPECT_THAT(message_of(ErrorCode::bad_plan_option, [&] { compile(grad(saved_loss), without)(net, x); }),
              HasSubstr("has values wait in the memory `disk`"));
  without.disk = {{folder.path(), 64_KiB}};
  EXPECT_THAT(message_of(ErrorCode::infeasible_budget, [&] { compile(grad(saved_loss), without)(net, x); }),
              HasSubstr("at most 64.00 KiB"));
}

// An index that may be out of range: the update of donated state must not be written before it was looked at.
TEST(SavedPlan, KeepsWhatIsDonatedSafe) {
  const auto step = [](Tensor state, Tensor table, Tensor at) {
    return std::pair(state * 0.5 + 1, sum(take(table, at, 0)) + sum(state));
  };
  const ScratchFolder folder;
  const Tensor table = random_normal(key(1), {16, 8}), good = cast(arange(4), DType::i32),
               bad = cast(arange(4), DType::i32) + 40;
  const auto first = compile(step, {.donate = {0}});
  first(ones({64}), table, good);
  first.save_plan(folder.path("step.json"));
  const auto again = compile(step, {.donate = {0}, .plans = {folder.path("step.json")}});
  Tensor state = ones({64});
  EXPECT_THROW(again(state, table, bad), Error);
  EXPECT_EQ(state.to_vector(), ones({64}).to_vector());
  EXPECT_EQ(numbers_of(again(state, table, good)), numbers_of(first(ones({64}), table, good)));
}

TEST(SavedPlan, IsOfOneGraphAndSeveralFilesAreOfSeveral) {
  const ScratchFolder folder;
  const SavedNet net = saved_net();
  const auto first = compile(grad(saved_loss));
  const std::vector<double> small = numbers_of(first(net, saved_batch(64)));
  first.save_plan(folder.path("small.json"));
  const std::vector<double> large = numbers_of(first(net, saved_batch(128)));
  first.save_plan(folder.path("large.json"));

  const auto one = compile(grad(saved_loss), {.plans = {folder.path("small.json")}});
  EXPECT_EQ(numbers_of(one(net, saved_batch(64))), small);
  const std::string message = message_of(ErrorCode::bad_plan_file, [&] { one(net, saved_batch(128)); });
  EXPECT_THAT(message, HasSubstr("small.json is of "));
  EXPECT_THAT(message, HasSubstr("f32[64, 32]"));
  EXPECT_THAT(message, HasSubstr("f32[128, 32]"));
  EXPECT_EQ(numbers_of(one(net, saved_batch(64))), small) << "a refused call changes nothing";

  const auto both =
      compile(grad(saved_loss), {.plans = {folder.path("small.json"), folder.path("large.json")}});
  EXPECT_EQ(numbers_of(both(net, saved_batch(128))), large);
  EXPECT_EQ(numbers_of(both(net, saved_batch(64))), small);
  // Another function of the same types.
  const auto other = [](const SavedNet& n, Tensor x) { return saved_loss(n, x) * 2; };
  EXPECT_EQ(
      code_of([&] { compile(grad(other), {.plans = {folder.path("small.json")}})(net, saved_batch(64)); }),
      ErrorCode::bad_plan_file);
}

// Names, lines and hints are no part of what a plan is of.
TEST(SavedPlan, SurvivesThatTheUsersLinesMove) {
  const ScratchFolder folder;
  const auto f = [](Tensor x) {
    const Tensor a = exp(x), b = sin(x);
    return a * b;
  };
  const auto g = [](Tensor other_name) {
    const Tensor first = exp(other_name);

    const Tensor second = sin(other_name);
    return keep(first) * second;
  };
  const auto first = compile(f);
  const std::vector<double> expected = first(arange(100, DType::f32)).to_vector();
  first.save_plan(folder.path("f.json"));
  EXPECT_EQ(compile(g, {.plans = {folder.path("f.json")}})(arange(100, DType::f32)).to_vector(), expected);
}

TEST(SavedPlan, AboveTheBudgetIsRefusedWithBothFigures) {
  const ScratchFolder folder;
  const SavedNet net = saved_net();
  const auto free = compile(grad(saved_loss));
  const std::vector<double> expected = numbers_of(free(net, saved_batch()));
  free.save_plan(folder.path("free.json"));
  const Bytes peak = free.plan().peak();
  const auto tight = compile(grad(saved_loss), {.memory = 260_KiB});
  tight(net, saved_batch());
  tight.save_plan(folder.path("tight.json"));
  const Bytes less = tight.plan().peak();
  ASSERT_LT(less, peak);

  const auto refused = compile(grad(saved_loss), {.memory = 260_KiB, .plans = {folder.path("free.json")}});
  const std::string message = message_of(ErrorCode::infeasible_budget, [&] { refused(net, saved_batch()); });
  EXPECT_THAT(message, HasSubstr(fmt::format("{} bytes", peak.count)));
  EXPECT_THAT(message, HasSubstr("266240 bytes"));

  // Of several plans of one graph, the fastest that fits, as the budget changes.
  const auto both = compile(grad(saved_loss),
                            {.memory = peak, .plans = {folder.path("tight.json"), folder.path("free.json")}});
  EXPECT_EQ(numbers_of(both(net, saved_batch())), expected);
  EXPECT_EQ(both.plan().peak(), peak);
  both.set_memory(260_KiB);
  EXPECT_EQ(numbers_of(both(net, saved_batch())), expected);
  EXPECT_EQ(both.plan().peak(), less);
  both.set_memory(less - Bytes(1));
  EXPECT_EQ(code_of([&] { both(net, saved_batch()); }), ErrorCode::infeasible_budget);
}

TEST(SavedPlan, OptionsThatContradictItAreRefused) {
  const ScratchFolder folder;
  const auto f = compile(saved_loss);
  f(saved_net(), saved_batch());
  f.save_plan(folder.path("plan.json"));
  EXPECT_EQ(code_of([&] {
              compile(saved_loss, {.plans = {folder.path("plan.json")}, .max_batch = 512})(saved_net(),
                                                                                           saved_batch());
            }),
            ErrorCode::bad_plan_option);
  const SavedNet net = saved_net(8, 64);
  const auto lossy =
      compile(grad(saved_loss), {.memory = 2200_KiB, .lossy = Lossy{4e-3}, .allow = {Choice::compress}});
  lossy(net, saved_batch(1024, 64));
  lossy.save_plan(folder.path("lossy.json"));
  const auto stricter = compile(grad(saved_loss), {.memory = 2200_KiB,
                                                   .lossy = Lossy{1e-5},
                                                   .allow = {Choice::compress},
                                                   .plans = {folder.path("lossy.json")}});
  EXPECT_EQ(code_of([&] { stricter(net, saved_batch(1024, 64)); }), ErrorCode::bad_plan_option);
  // Exact gradients have other marks: it is another graph.
  const auto exact = compile(grad(saved_loss), {.plans = {folder.path("lossy.json")}});
  EXPECT_EQ(code_of([&] { exact(net, saved_batch(1024, 64)); }), ErrorCode::bad_plan_file);
}

TEST(SavedPlan, AFileThatIsNoneIsToldOfAtTheLineOfCompile) {
  const ScratchFolder folder;
  const auto read = [](const std::string& path) { compile(saved_loss, {.plans = {path}}); };
  EXPECT_THAT(message_of(ErrorCode::bad_file, [&] { read(folder.path("missing.json")); }),
              HasSubstr("missing.json"));
  EXPECT_THAT(message_of(ErrorCode::bad_file, [&] { read(folder.path()); }), HasSubstr(folder.path()));
  EXPECT_THAT(message_of(ErrorCode::bad_file, [&] { read("/dev/null"); }), HasSubstr("/dev/null"));
  EXPECT_THAT(message_of(ErrorCode::bad_plan_file, [&] { read(folder.write("empty.json", "")); }),
              HasSubstr("empty.json"));
  EXPECT_THAT(message_of(ErrorCode::bad_plan_file, [&] { read(folder.write("other.json", "{\"a\": 1}")); }),
              HasSubstr("other.json"));
  const auto f = compile(saved_loss);
  EXPECT_EQ(code_of([&] { f.save_plan(folder.path("early.json")); }), ErrorCode::structure_mismatch);
  EXPECT_FALSE(std::filesystem::exists(folder.path("early.json")));
  f(saved_net(), saved_batch());
  EXPECT_THAT(message_of(ErrorCode::bad_file, [&] { f.save_plan(folder.path("no/such/folder.json")); }),
              HasSubstr("no/such/folder.json"));
  const std::string text = f.plan().to_json();
  for (std::size_t length = 0; length < text.size(); length += 131)
    EXPECT_EQ(code_of([&] { read(folder.write("cut.json", text.substr(0, length))); }),
              ErrorCode::bad_plan_file)
        << length;
  // What `tidemark plan --output` wrote, or an older version.
  EXPECT_THAT(
      message_of(ErrorCode::bad_plan_file,
                 [&] { read(folder.write("old.json", tidemark::to_json(f.plan().plan, PlanOrigin()))); }),
      HasSubstr("does not say which function it is of"));
  std::string far = text;
  far.replace(far.find("\"cpu\""), 5, "\"toy\"");
  EXPECT_THAT(message_of(ErrorCode::bad_plan_option,
                         [&] {
                           compile(saved_loss, {.plans = {folder.write("far.json", far)}})(saved_net(),
                                                                                           saved_batch());
                         }),
              HasSubstr("is for `toy`"));
}

// Whatever one number, word or field is changed to: it is refused, or the same is computed.
TEST(SavedPlan, AChangedFileIsRefusedOrComputesTheSame) {
  const ScratchFolder folder;
  const auto loss = [](Tensor w, Tensor x) {
    const Tensor h = repeat(
        6, [&](Tensor g) { return tanh(matmul(g, w)); }, x);
    return mean(relu(matmul(h, w)));
  };
  const auto f = value_and_grad(loss);
  const Tensor w = random_normal(key(1), {16, 16}), x = random_normal(key(2), {64, 16});
  const auto first = compile(f, {.memory = 30_KiB, .donate = {0}});
  const std::vector<double> expected = numbers_of(first(w + 0, x));
  const std::string text = first.plan().to_json();
  const std::regex numbers("-?[0-9]+");
  int refused = 0, tried = 0, place = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), numbers), end; at != end; ++at, ++place) {
    if (place % 7 != 0) continue;
    for (const char* const other : {"0", "1", "17", "-1", "4096", "1152921504606846976"}) {
      if (at->str() == other) continue;
      std::string changed = text;
      changed.replace(static_cast<std::size_t>(at->position()), at->str().size(), other);
      ++tried;
      try {
        const auto again =
            compile(f, {.memory = 30_KiB, .donate = {0}, .plans = {folder.write("changed.json", changed)}});
        EXPECT_EQ(numbers_of(again(w + 0, x)), expected) << at->str() << " to " << other;
      } catch (const Error& error) {
        ++refused;
        const bool known = error.code() == ErrorCode::bad_plan_file ||
                           error.code() == ErrorCode::infeasible_budget ||
                           error.code() == ErrorCode::bad_plan_option;
        EXPECT_TRUE(known) << at->str() << " to " << other << ": " << error.what();
      }
    }
  }
  EXPECT_GT(refused, tried / 4);
}

TEST(SavedPlan, ServesThreadsAsAnyPlanDoes) {
  const ScratchFolder folder;
  const SavedNet net = saved_net();
  const auto first = compile(grad(saved_loss), {.memory = 260_KiB});
  const std::vector<double> expected = numbers_of(first(net, saved_batch()));
  first.save_plan(folder.path("plan.json"));
  int searched = 0;
  const auto again =
      compile(grad(saved_loss), {.memory = 260_KiB,
                                 .plans = {folder.path("plan.json")},
                                 .progress = [&](const PlanProgress&) { return ++searched > 0; }});
  std::filesystem::remove(folder.path("plan.json"));  // it was read
  std::vector<std::thread> threads;
  std::vector<std::vector<double>> results(4);
  for (std::vector<double>& result : results) {
    threads.emplace_back([&] {
      for (int run = 0; run < 3; ++run) result = numbers_of(again(net, saved_batch()));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<double>& result : results) EXPECT_EQ(result, expected);
  EXPECT_EQ(searched, 0);
}

}  // namespace
}  // namespace tidemark
