// `tidemark plan` with budgets and with graphs of costs and bytes, as a person or a script uses it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/command.h"
#include "tidemark/ir/print.h"
#include "tidemark/solve/dag/schedule.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using tidemark::testing::CommandRun;
using tidemark::testing::run_command;
using tidemark::testing::ScratchFolder;

// x → h1 → h2 → h3 → d_h3 → d_h2 → d_h1; the last two read h2 and h1 as well.
const std::string chain = R"({"nodes": [
  {"name": "x", "cost": 1, "bytes": 10, "backward": false},
  {"name": "h1", "cost": 10, "bytes": 100, "backward": false},
  {"name": "h2", "cost": 20, "bytes": 100, "backward": false},
  {"name": "h3", "cost": 40, "bytes": 100, "backward": false},
  {"name": "d_h3", "cost": 40, "bytes": 100, "backward": true},
  {"name": "d_h2", "cost": 20, "bytes": 100, "backward": true},
  {"name": "d_h1", "cost": 10, "bytes": 100, "backward": true}],
 "edges": [[0, 1], [1, 2], [2, 3], [3, 4], [2, 5], [4, 5], [1, 6], [5, 6]]})";

class PlanCommand : public ::testing::Test {
 protected:
  CommandRun plan(const std::string& arguments) const {
    return run_command(std::string(TIDEMARK_CLI) + " plan " + arguments);
  }
  nlohmann::json report(const std::string& arguments, int exit_code = 0) const {
    const CommandRun run = plan(arguments + " --json");
    EXPECT_EQ(run.exit_code, exit_code) << arguments << "\n" << run.err;
    return nlohmann::json::parse(run.out, nullptr, false);
  }
  ScratchFolder folder_;
  const std::string chain_ = folder_.write("chain.dag.json", chain);
};

// With a machine file of the reference's rates, so that nothing is measured.
TEST_F(PlanCommand, AFolderIsATierOfTheMachine) {
  const std::string machine = folder_.write("machine.json", to_json(reference_machine()));
  const std::string step = "gpt --context 64 --memory 60% --effort quick --machine " + machine;
  const nlohmann::json tier = report(step + " --tier disk=1GiB");
  const nlohmann::json disk = report(step + " --disk " + folder_.path() + " --disk-memory 1GiB");
  EXPECT_EQ(tier["plan_hash"], disk["plan_hash"]);
  EXPECT_LE(disk["peak"], disk["budget"]);
  EXPECT_EQ(tier["predicted_seconds"], disk["predicted_seconds"]);
}

TEST_F(PlanCommand, AFolderWithoutRatesIsMeasured) {
  Machine bare = reference_machine();
  bare.further.clear();
  bare.links.clear();
  const std::string machine = folder_.write("machine.json", to_json(bare));
  for (const std::string& given : {std::string(), " --machine " + machine}) {
    const nlohmann::json json = report("gpt --context 64 --memory 60% --effort quick --disk " +
                                       folder_.path() + " --disk-memory 1GiB" + given);
    EXPECT_LE(json["peak"], json["budget"]);
  }
}

TEST_F(PlanCommand, AFolderThatCannotBeUsedIsAnError) {
  const auto error = [&](const std::string& arguments) {
    const CommandRun run = plan("mlp " + arguments);
    EXPECT_NE(run.exit_code, 0) << arguments;
    EXPECT_THAT(run.out, IsEmpty()) << arguments;
    return run.err;
  };
  EXPECT_THAT(error("--memory 60% --disk /no/such/folder --disk-memory 1GiB"),
              AllOf(HasSubstr("--disk /no/such/folder"), HasSubstr("a folder that files can be made in")));
  EXPECT_THAT(error("--memory 60% --disk /proc --disk-memory 1GiB"), HasSubstr("--disk /proc"));
  EXPECT_THAT(error("--memory 60% --disk /tmp"), HasSubstr("--disk without --disk-memory"));
  EXPECT_THAT(error("--memory 60% --disk-memory 5"), HasSubstr("--disk-memory without --disk"));
  EXPECT_THAT(error("--memory 60% --disk /tmp --disk-memory -5"), HasSubstr("--disk-memory"));
  EXPECT_THAT(error("--memory 60% --disk /tmp --disk-memory much"), HasSubstr("--disk-memory"));
  EXPECT_THAT(error("--disk /tmp --disk-memory 1GiB"), HasSubstr("without --memory"));
  EXPECT_THAT(error("--memory 60% --disk /tmp --disk-memory 1GiB --tier disk=1GiB"),
              HasSubstr("named twice"));
  EXPECT_THAT(plan(chain_ + " --memory 90% --disk /tmp --disk-memory 1GiB").err, HasSubstr("--disk"));
}

TEST_F(PlanCommand, LossyFormsTakeLessTimeThanComputingAgain) {
  const std::string step = "gpt --memory 60% --effort quick";
  const nlohmann::json exact = report(step), lossy = report(step + " --lossy 0.004");
  EXPECT_EQ(exact["choices"]["compress"], 0);
  EXPECT_GT(exact["choices"]["recompute"], 0);
  EXPECT_GT(lossy["choices"]["compress"], 0);
  EXPECT_LT(lossy["overhead_percent"], exact["overhead_percent"]);
  EXPECT_LE(lossy["peak"], lossy["budget"]);
  EXPECT_THAT(plan(step + " --lossy 0.004").out, HasSubstr("compressed"));
}

TEST_F(PlanCommand, SaysWhatThePeakHoldsWithEachOptimizer) {
  for (const std::string name : {"sgd", "momentum", "nesterov", "rmsprop", "adam", "adamw", "adamw8bit",
                                 "adafactor", "lion", "none"}) {
    const nlohmann::json json = report("mlp --optimizer " + name);
    std::int64_t sum = 0;
    for (const auto& [role, bytes] : json["peak_holds"].items()) sum += bytes.get<std::int64_t>();
    EXPECT_EQ(sum, json["peak"]) << name;
    EXPECT_GT(json["peak_holds"]["parameters"], 7'000'000) << name;
    EXPECT_EQ(json["choices"]["compress"], 0) << name;
    if (name != "none") EXPECT_LT(json["gradients"]["at_once"], json["gradients"]["bytes"]) << name;
  }
  EXPECT_THAT(plan("mlp --optimizer adamw").out, HasSubstr("peak holds"));
}

TEST_F(PlanCommand, LossyFormsThatCanHaveNoEffectAreRefused) {
  EXPECT_EQ(plan("mlp --lossy 0.004").exit_code, 4);
  EXPECT_EQ(plan("mlp --memory 60% --lossy 0").exit_code, 4);
  EXPECT_EQ(plan("mlp --memory 60% --lossy nan").exit_code, 4);
  EXPECT_EQ(plan(chain_ + " --memory 90% --lossy 0.004").exit_code, 4);
}

TEST_F(PlanCommand, DoesOnlyWhatIsAllowed) {
  const std::string step = "gpt --memory 60% --effort quick --lossy 0.004 --tier disk=1GiB --split automatic";
  const auto choices = [&](const std::string& allow) {
    return report(step + " --allow " + allow)["choices"];
  };
  const nlohmann::json again = choices("recompute"), moved = choices("disk"), packed = choices("compress"),
                       cut = choices("split");
  EXPECT_GT(again["recompute"], 0);
  EXPECT_GT(moved["disk"], 0);
  EXPECT_GT(packed["compress"], 0);
  EXPECT_GT(cut["split"], 1);
  for (const auto& [own, counts] : {std::pair("recompute", again), std::pair("disk", moved),
                                    std::pair("compress", packed), std::pair("split", cut)}) {
    for (const char* other : {"recompute", "disk", "compress", "invert"})
      if (std::string(own) != other) EXPECT_EQ(counts[other], 0) << own << " " << other;
    if (std::string(own) != "split") EXPECT_EQ(counts["split"], 1) << own;
  }
  const CommandRun kept = plan("gpt --memory 60% --effort quick --allow keep");
  EXPECT_EQ(kept.exit_code, 3);
  EXPECT_THAT(kept.err, HasSubstr("below the smallest that fits"));
}

TEST_F(PlanCommand, WhatCannotBeAllowedIsRefused) {
  for (const char* arguments : {"--allow tape", "--allow ''", "--allow recompute,", "--allow Recompute",
                                "--allow disk", "--allow split", "--allow recompute --split 4"}) {
    const CommandRun run = plan(std::string("gpt --memory 60% ") + arguments);
    EXPECT_EQ(run.exit_code, 4) << arguments;
    EXPECT_THAT(run.err, HasSubstr("--allow")) << arguments;
  }
  EXPECT_THAT(plan("gpt --memory 60% --allow tape").err,
              HasSubstr("keep, recompute, compress, host, disk, invert, split"));
  EXPECT_EQ(plan("gpt --allow recompute").exit_code, 4);
  EXPECT_EQ(plan(chain_ + " --memory 90% --allow recompute").exit_code, 4);
}

TEST_F(PlanCommand, SaysWhatMoreMemoryWouldSave) {
  const std::string step = "gpt --memory 50% --tier disk=64KiB --effort quick --prices";
  const nlohmann::json prices = report(step)["prices"];
  ASSERT_EQ(prices.size(), 2u);
  EXPECT_EQ(prices[0]["memory"], "ram");
  EXPECT_EQ(prices[1]["memory"], "disk");
  EXPECT_EQ(prices[1]["more"], 4096);
  EXPECT_GT(prices[0]["seconds_saved"].get<double>(), 0);
  EXPECT_GE(prices[1]["seconds_saved"].get<double>(), 0);
  EXPECT_EQ(prices, report(step)["prices"]);
  EXPECT_THAT(plan(step).out, AllOf(HasSubstr("more of ram saves"), HasSubstr("more of disk saves")));
  EXPECT_EQ(plan("gpt --prices").exit_code, 4);
}

TEST_F(PlanCommand, ProposesMicroBatchesAndADiskThatFit) {
  const std::string step = "gpt --effort quick --memory ";
  const CommandRun run = plan(step + "60% --allow keep --json");
  ASSERT_EQ(run.exit_code, 3) << run.err;
  const auto budget = nlohmann::json::parse(run.out)["budget"].get<std::int64_t>();
  for (const auto& [option, choice] :
       {std::pair<std::string, std::string>("--split ", "split"), {"--tier disk=", "disk"}}) {
    const std::size_t at = run.err.find(option);
    ASSERT_NE(at, std::string::npos) << run.err;
    const std::string change = run.err.substr(at, run.err.find(" fits", at) - at);
    const nlohmann::json changed =
        report(step + std::to_string(budget) + " --allow " + choice + " " + change);
    EXPECT_LE(changed["peak"], budget) << change;
  }
}

TEST_F(PlanCommand, ReportsADagForPeople) {
  const CommandRun run = plan(chain_ + " --memory 90%");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  for (const char* line :
       {"graph        7 nodes, 8 edges", "budget       ", "peak         ", "base peak    ", "memory bound ",
        "cost         ", "overhead     ", "lower bound  ", "recomputed   ", "seconds      "}) {
    EXPECT_THAT(run.out, HasSubstr(line));
  }
  EXPECT_THAT(run.err, IsEmpty());
}

TEST_F(PlanCommand, CutsTheBatchOfABuiltInModel) {
  const std::string gpt = "gpt --batch 32 --context 64 --effort quick";
  const nlohmann::json whole = report(gpt), parts = report(gpt + " --split 8");
  EXPECT_EQ(whole["micro_batches"], 1);
  EXPECT_EQ(parts["micro_batches"], 8);
  EXPECT_LT(parts["peak"].get<double>(), 0.5 * whole["peak"].get<double>());
  const nlohmann::json chosen = report(gpt + " --memory 50% --split automatic");
  EXPECT_GT(chosen["micro_batches"].get<int>(), 1);
  EXPECT_LT(chosen["predicted_seconds"].get<double>(),
            report(gpt + " --memory 50%")["predicted_seconds"].get<double>());
  EXPECT_LE(chosen["peak"].get<double>(), 0.5 * whole["peak"].get<double>());
  EXPECT_THAT(plan(gpt + " --split 4").out, HasSubstr("micro-batches     4"));
  EXPECT_THAT(plan("gpt --batch 16 --split 3").err, HasSubstr("it does not divide the batch of 16"));
  EXPECT_THAT(plan("residual --batch 4 --context 8 --split 2").err,
              HasSubstr("batch_norm takes the examples of the batch together"));
  EXPECT_THAT(plan(gpt + " --split automatic").err,
              HasSubstr("--split has no effect on a plan without --memory"));
}

TEST_F(PlanCommand, ReportsADagAsJson) {
  const nlohmann::json all = report(chain_ + " --memory 1KiB");
  EXPECT_EQ(all["budget"], 1024);
  EXPECT_EQ(all["base_peak"], 400);
  EXPECT_EQ(all["base_cost"], 141);
  EXPECT_EQ(all["cost"], 141);
  EXPECT_EQ(all["overhead_percent"], 0);
  EXPECT_EQ(all["lower_bound_percent"], 0);
  EXPECT_EQ(all["gap_percent"], 0);
  EXPECT_EQ(all["optimal"], true);
  EXPECT_EQ(all["recomputed"], 0);
  EXPECT_LE(all["peak"], 400);
  EXPECT_LE(all["memory_bound"], all["peak"]);
  EXPECT_GE(all["seconds"].get<double>(), 0);
}

TEST_F(PlanCommand, RecomputesWhatIsCheapest) {
  // At h3's derivative all of h1, h2, h3 wait. With 310 bytes x is kept and h1 made again; with 300, x as
  // well.
  const nlohmann::json free = report(chain_ + " --fixed-order --memory 400");
  const nlohmann::json tight = report(chain_ + " --fixed-order --memory 310");
  EXPECT_EQ(free["cost"], 141);
  EXPECT_LE(tight["peak"], 310);
  EXPECT_EQ(tight["cost"], 151);
  EXPECT_EQ(tight["recomputed"], 1);
  EXPECT_EQ(tight["optimal"], true);
  EXPECT_EQ(report(chain_ + " --fixed-order --memory 300")["cost"], 152);
  EXPECT_NEAR(tight["overhead_percent"].get<double>(), 100 * 10.0 / 141, 1e-9);
}

TEST_F(PlanCommand, WithoutABudgetItTakesTheLeastMemoryAtNoExtraCost) {
  const nlohmann::json json = report(chain_);
  EXPECT_EQ(json["plan_hash"].get<std::string>().size(), 16u);
  EXPECT_EQ(json["plan_hash"], report(chain_)["plan_hash"]);
  EXPECT_TRUE(json["budget"].is_null());
  EXPECT_EQ(json["cost"], json["base_cost"]);
  EXPECT_LE(json["peak"], json["base_peak"]);
}

TEST_F(PlanCommand, BudgetsTakeUnitsAndShares) {
  EXPECT_EQ(report(chain_ + " --memory 1KiB")["budget"], 1024);
  EXPECT_EQ(report(chain_ + " --memory '2 kB'")["budget"], 2000);
  EXPECT_EQ(report(chain_ + " --memory 2GB")["budget"], 2'000'000'000);
  EXPECT_EQ(report(chain_ + " --memory 100%")["budget"], 400);
  EXPECT_EQ(report(chain_ + " --memory 99.9%")["budget"], 399);
  EXPECT_EQ(report(chain_ + " --memory 250%")["budget"], 1000);
  EXPECT_EQ(report(chain_ + " --memory 9223372036854775807")["budget"], 9223372036854775807);
}

TEST_F(PlanCommand, WrongBudgetsAreBadInput) {
  for (const char* budget : {"0",          "0B",   "0.4",       "-1",  "-5MiB", "9223372036854775808",
                             "8388608TiB", "1e30", "12parsecs", "MiB", "nan",   "inf",
                             "''",         "' '",  "0%",        "-5%", "%",     "x%",
                             "1e9%",       "1e-9%"}) {
    const CommandRun run = plan(chain_ + " --memory " + budget);
    EXPECT_EQ(run.exit_code, 4) << budget;
    EXPECT_THAT(run.err, AllOf(HasSubstr("error[TM0104]: --memory"), HasSubstr("expected: "))) << budget;
    EXPECT_THAT(run.out, IsEmpty()) << budget;
    EXPECT_EQ(plan(std::string("mlp --memory ") + budget).exit_code, 4) << budget;
  }
}

TEST_F(PlanCommand, BudgetsThatCannotBeMetSayWhatFitsAndWhatPinsIt) {
  const std::string schedule = folder_.path("none.txt");
  const CommandRun run = plan(chain_ + " --memory 200 --json --schedule " + schedule);
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, AllOf(HasSubstr("error[TM0101]: a budget of 200 bytes"),
                             HasSubstr("--> chain.dag.json"), HasSubstr("smallest: 300 bytes, proved"),
                             HasSubstr("peak: node "), HasSubstr("--memory 300 fits")));
  const nlohmann::json json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["fits"], false);
  EXPECT_EQ(json["budget"], 200);
  EXPECT_EQ(json["floor"], 300);
  EXPECT_EQ(json["floor_proved"], true);
  EXPECT_EQ(json["base_peak"], 400);
  EXPECT_FALSE(json["pinned_by"]["largest"].empty());
  EXPECT_FALSE(std::filesystem::exists(schedule));
  EXPECT_EQ(report(chain_ + " --memory 300")["fits"], true);
  EXPECT_EQ(report(chain_ + " --memory 299", 3)["floor"], 300);
  const CommandRun text = plan(chain_ + " --memory 200");
  EXPECT_EQ(text.exit_code, 3);
  EXPECT_THAT(text.out, IsEmpty());
}

TEST_F(PlanCommand, SchedulesCanBeReadBackAndJudged) {
  const std::string schedule = folder_.path("run.txt");
  for (const char* budget : {"300", "310", "330", "400", "410"}) {
    for (const char* order : {"", " --fixed-order"}) {
      const std::string arguments = chain_ + " --memory " + budget + order;
      const nlohmann::json planned = report(arguments + " --schedule " + schedule);
      const nlohmann::json judged = report(arguments + " --check " + schedule);
      EXPECT_EQ(judged["valid"], true);
      EXPECT_EQ(judged["fits"], true);
      for (const char* field :
           {"peak", "cost", "base_peak", "base_cost", "overhead_percent", "recomputed", "budget"}) {
        EXPECT_EQ(judged[field], planned[field]) << arguments << " " << field;
      }
    }
  }
  EXPECT_EQ(plan(chain_ + " --check " + schedule).exit_code, 0);
  EXPECT_EQ(plan(chain_ + " --memory 300 --check " + folder_.write("base.txt", "0 1 2 3 4 5 6")).exit_code,
            3);
}

TEST_F(PlanCommand, InstancesArePlannedAsTheJudgeSays) {
  const std::string schedule = folder_.path("run.txt");
  for (const char* graph : {"vgg16", "unet", "layered100"}) {
    const std::string path = std::string(TIDEMARK_SHARED_DATA) + "/graphs/" + graph + ".dag.json";
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "no instance at " << path;
    for (const char* order : {"", " --fixed-order"}) {
      const std::string arguments = "'" + path + "' --memory 90%" + order;
      const nlohmann::json planned = report(arguments + " --effort quick --schedule " + schedule);
      const nlohmann::json judged = report(arguments + " --check " + schedule);
      EXPECT_LE(planned["peak"], planned["budget"]) << arguments;
      EXPECT_LT(planned["overhead_percent"].get<double>(), 3) << arguments;
      EXPECT_EQ(judged["peak"], planned["peak"]) << arguments;
      EXPECT_EQ(judged["cost"], planned["cost"]) << arguments;
    }
  }
}

TEST_F(PlanCommand, WrongSchedulesAreBadInput) {
  const std::pair<std::string, std::string> cases[] = {
      {"0 1 2 3 4 5", "node 6 `d_h1` never runs"},
      {"0 2 1 3 4 5 6", "entry 1 runs node 2 `h2` before its input node 1 `h1`"},
      {"0 1 2 3 4 5 6 7", "entry 7 is 7"},
      {"0 1 2 3 four 5 6", "entry 4 is no index"},
      {"", "node 0 `x` never runs"},
  };
  for (const auto& [text, complaint] : cases) {
    const CommandRun run = plan(chain_ + " --check " + folder_.write("bad.txt", text));
    EXPECT_EQ(run.exit_code, 4) << text;
    EXPECT_THAT(run.err, AllOf(HasSubstr(complaint), HasSubstr("--> bad.txt:1")));
  }
  const std::string swapped =
      folder_.write("swapped.dag.json", R"({"nodes": [{"name": "a", "cost": 1, "bytes": 1},
      {"name": "b", "cost": 1, "bytes": 1}], "edges": []})");
  const std::string other = folder_.write("other.txt", "1 0");
  EXPECT_EQ(plan(swapped + " --check " + other).exit_code, 0);
  EXPECT_THAT(plan(swapped + " --fixed-order --check " + other).err,
              HasSubstr("do not first run in the file's order"));
  EXPECT_EQ(plan(swapped + " --check " + folder_.path("no_such.txt")).exit_code, 4);
}

TEST_F(PlanCommand, BadGraphsAreToldWithThePlace) {
  const std::string node = R"({"name": "a", "cost": 1, "bytes": 1})";
  const std::pair<std::string, std::string> cases[] = {
      {R"({"nodes": [)" + node + ",\n" + node + R"(], "edges": [[0, 1], [1, 0]]})",
       "closes a cycle: node 0 `a` → node 1 `a`"},
      {R"({"nodes": [)" + node + ",\n" + node + R"(], "edges": [[1, 0]]})", "edge 0 [1, 0] goes backwards"},
      {R"({"nodes": [)" + node + ",\n" + node + R"(], "edges": [[0, 2]]})", "node 2, which does not exist"},
      {R"({"nodes": [)" + node + ",\n" + node + R"(], "edges": [[1, 1]]})", "to itself"},
      {"{\"nodes\": [\n"
       R"({"name": "a", "cost": 1, "bytes": -1}], "edges": []})",
       "`bytes` is negative: -1"},
      {"{\"nodes\": [\n"
       R"({"name": "a", "cost": 1, "bytes": 0.5}], "edges": []})",
       "`bytes` is not a whole number"},
      {"{\"nodes\": [\n"
       R"({"name": "a", "cost": 1, "bytes": 9223372036854775808}], "edges": []})",
       "too large"},
      {"{\"nodes\": [\n"
       R"({"name": "a", "cost": -1, "bytes": 1}], "edges": []})",
       "`cost` is negative"},
      {"{\"nodes\": [\n"
       R"({"name": "a", "cost": NaN, "bytes": 1}], "edges": []})",
       "not JSON"},
      {"{\"nodes\": [\n"
       R"({"name": "a", "cost": 1}], "edges": []})",
       "`bytes` is missing"},
      {"{\"nodes\": [\n"
       R"({"name": "a", "cost": "1", "bytes": 1}], "edges": []})",
       "`cost` is a text"},
      {"{\"edges\": [],\n\"nodes\": []}", "the graph has no nodes"},
      {"{\n", "not JSON: line 2"},
      {"\n[]", "holds a list"},
  };
  for (const auto& [text, complaint] : cases) {
    const CommandRun run = plan(folder_.write("bad.dag.json", text) + " --memory 100");
    EXPECT_EQ(run.exit_code, 4) << text;
    EXPECT_THAT(run.err,
                AllOf(HasSubstr("error[TM05"), HasSubstr(complaint), HasSubstr("--> bad.dag.json:2")))
        << text;
    EXPECT_THAT(run.out, IsEmpty());
  }
  EXPECT_EQ(plan(folder_.write("empty.dag.json", "") + " --memory 1").exit_code, 4);
  EXPECT_EQ(plan(folder_.path("no_such.dag.json") + " --memory 1").exit_code, 4);
  EXPECT_EQ(plan(folder_.path("") + " --memory 1").exit_code, 4) << "a folder";
}

TEST_F(PlanCommand, OptionsWithoutEffectAreRefused) {
  for (const char* option : {"--batch 2", "--context 8", "--dtype f32", "--optimizer sgd", "--disable order",
                             "--dump-after order", "--output x.json", "--machine x.json", "--passes",
                             "--print", "--by batch", "--width 64", "--layers 2"}) {
    const CommandRun run = plan(chain_ + " " + option);
    EXPECT_EQ(run.exit_code, 4) << option;
    EXPECT_THAT(run.err, HasSubstr("has no effect")) << option;
  }
  EXPECT_EQ(plan("mlp --check x.txt").exit_code, 4);
}

TEST_F(PlanCommand, EffortIsAWordOrSeconds) {
  for (const char* effort : {"quick", "normal", "best", "1", "0.5", "2s"}) {
    EXPECT_EQ(report(chain_ + " --memory 310 --effort " + effort)["effort"], effort);
  }
  for (const char* effort : {"fast", "0", "-1", "1e9", "nan", "''", "1m"}) {
    const CommandRun run = plan(chain_ + " --memory 310 --effort " + effort);
    EXPECT_EQ(run.exit_code, 4) << effort;
    EXPECT_THAT(run.err, HasSubstr("expected: quick, normal, best"));
  }
}

TEST_F(PlanCommand, MisuseIsNotBadInput) {
  EXPECT_EQ(plan("").exit_code, 2);
  EXPECT_EQ(plan(chain_ + " --memory").exit_code, 2);
  EXPECT_EQ(plan(chain_ + " --no-such-option").exit_code, 2);
  EXPECT_EQ(plan(chain_ + " --schedule " + folder_.path("no/such/folder.txt")).exit_code, 4);
  EXPECT_EQ(plan("--help").exit_code, 0);
}

TEST_F(PlanCommand, FitsGraphsOfOperationsIntoBudgets) {
  const std::string model = "mlp --batch 64 ";
  const nlohmann::json roomy = report(model);
  EXPECT_TRUE(roomy["budget"].is_null());
  EXPECT_EQ(roomy["recomputed"], 0);
  const std::int64_t peak = roomy["peak"];
  const nlohmann::json floor = report(model + "--memory 1", 3);
  const std::int64_t least = floor["floor"];
  EXPECT_LT(least, peak);
  EXPECT_EQ(floor["fits"], false);
  EXPECT_FALSE(floor["pinned_by"]["op"].empty());
  const std::int64_t between = (least + peak) / 2;
  const nlohmann::json tight = report(model + "--memory " + std::to_string(between));
  EXPECT_EQ(tight["budget"], between);
  EXPECT_LE(tight["peak"], between);
  EXPECT_LE(tight["lower_bound_percent"], tight["overhead_percent"]);
  EXPECT_EQ(report(model + "--memory 100%")["budget"], peak);
  EXPECT_LE(report(model + "--fixed-order --memory 200%")["peak"], 2 * peak);
}

TEST_F(PlanCommand, InfeasibleGraphsOfOperationsSayWhy) {
  const CommandRun run = plan("mlp --memory 1KiB");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.out, IsEmpty());
  EXPECT_THAT(run.err, AllOf(HasSubstr("error[TM0101]: a budget of 1.00 KiB"), HasSubstr("peak: ")));
  const CommandRun large = plan("mlp --batch 512 --memory 13MiB --json");
  EXPECT_EQ(large.exit_code, 3);
  const nlohmann::json json = nlohmann::json::parse(large.out);
  ASSERT_FALSE(json["changes"].empty());
  EXPECT_THAT(json["changes"][0].get<std::string>(), HasSubstr("--batch 512 → "));
  EXPECT_THAT(large.err, HasSubstr("help: --batch 512 → "));
}

TEST_F(PlanCommand, PlansForTheMachineInAFile) {
  EXPECT_EQ(plan("mlp --machine " + folder_.path("none.json")).exit_code, 4);
  EXPECT_EQ(plan("mlp --machine " + folder_.write("bad.json", "{}")).exit_code, 4);
}

TEST_F(PlanCommand, WritesTheOrderOfAGraphOfOperations) {
  const std::string schedule = folder_.path("run.txt");
  ASSERT_EQ(plan("mlp --batch 2 --schedule " + schedule).exit_code, 0);
  EXPECT_FALSE(schedule_from_text(folder_.read("run.txt"), "run.txt").empty());
}

// What a loop keeps for its reverse is chosen for the budget, as compile() does it.
TEST_F(PlanCommand, LoopsOfAFileKeepLessWithinABudget) {
  const auto loss = [](Tensor w, Tensor h) {
    return sum(repeat(
        64, [&](Tensor x) { return tanh(matmul(x, w)); }, h));
  };
  const Tensor w = Tensor::of_type({DType::f32, {32, 32}}), h = Tensor::of_type({DType::f32, {256, 32}});
  const Graph traced = *trace_call(grad(loss), std::tuple(w, h), {}).graph;
  const std::string file = folder_.write("loop.ir", print(traced));
  const auto free = report(file);
  const auto half = report(file + " --memory 50%"), little = report(file + " --memory 20%");
  EXPECT_LE(half["peak"].get<double>(), 0.5 * free["peak"].get<double>());
  EXPECT_LE(little["peak"].get<double>(), 0.2 * free["peak"].get<double>());
  EXPECT_EQ(half["memories"][0]["budget"], half["budget"]);
}

}  // namespace
}  // namespace tidemark
