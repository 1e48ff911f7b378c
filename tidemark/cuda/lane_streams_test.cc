// Lanes as streams, on a driver that is not there: it notes what each stream would have behind it. Whatever
// the plan orders must be ordered, and nothing may be left beside the first stream.
#include "tidemark/cuda/lane_streams.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>

#include "tests/support/gpu.h"
#include "tests/support/sanitized.h"
#include "tests/support/spread_plan.h"
#include "tests/support/test_target.h"
#include "tidemark/base/error.h"
#include "tidemark/ir/builder.h"
#include "tidemark/ops/scalar/elementwise.h"
#include "tidemark/plan/passes/pipeline.h"

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::cuda {
namespace {

using Done = std::set<std::size_t>;  // commands that must have ended

struct PretendedGpu {
  std::map<CUstream, Done> streams;
  std::map<CUevent, std::optional<Done>> events;  // none: nobody has recorded it
  std::uintptr_t next = 1;
};
PretendedGpu gpu;

Driver pretended() {
  Driver driver = tidemark::testing::pretended_driver();
  driver.stream_create = [](CUstream* stream, unsigned) {
    *stream = reinterpret_cast<CUstream>(gpu.next++);
    gpu.streams[*stream] = {};
    return CUDA_SUCCESS;
  };
  driver.stream_destroy = [](CUstream stream) { return gpu.streams.erase(stream), CUDA_SUCCESS; };
  driver.event_create = [](CUevent* event, unsigned) {
    *event = reinterpret_cast<CUevent>(gpu.next++);
    gpu.events[*event] = {};
    return CUDA_SUCCESS;
  };
  driver.event_destroy = [](CUevent event) { return gpu.events.erase(event), CUDA_SUCCESS; };
  driver.event_record = [](CUevent event, CUstream stream) {
    gpu.events.at(event) = gpu.streams.at(stream);
    return CUDA_SUCCESS;
  };
  driver.stream_wait_event = [](CUstream stream, CUevent event, unsigned) {
    const std::optional<Done>& behind = gpu.events.at(event);
    if (!behind) return CUDA_ERROR_INVALID_VALUE;
    gpu.streams.at(stream).insert(behind->begin(), behind->end());
    return CUDA_SUCCESS;
  };
  return driver;
}

// What a plan orders directly: the lane before, and waits.
struct Ordered {
  LaneCommands commands;
  std::vector<std::vector<std::size_t>> behind;  // per command
  std::vector<bool> is_first;                    // per command: on line 0

  explicit Ordered(unsigned seed) {
    Graph graph;
    Builder builder(graph);
    std::vector<Var> made = {builder.input({DType::f32, {300}})};
    for (int i = 0; i < 8; ++i) made.push_back(i % 2 == 0 ? tanh(made.back()) : sin(made.back()));
    Var back = made.back();
    for (std::size_t i = made.size(); i-- > 0;) back = back * made[i];
    graph.add_output(back.id());
    const Plan plan = tidemark::testing::spread(
        graph, make_plan(graph, test_target(), {.skip = {"fuse", "in_place"}}), seed);
    const VerifiedPlan good = verified(graph, plan, test_target());
    CommandStream stream(graph, good);
    std::map<int, std::size_t> last;  // of a lane
    std::set<int> computing = {0};
    for (const Step& step : plan.steps) {
      if (step.kind == StepKind::compute) computing.insert(step.lane);
    }
    while (const Command* command = stream.next()) {
      commands.add(*command);
      std::vector<std::size_t> list(command->waits.begin(), command->waits.end());
      if (const auto before = last.find(command->lane); before != last.end()) list.push_back(before->second);
      last[command->lane] = behind.size();
      behind.push_back(std::move(list));
      is_first.push_back(computing.contains(command->lane));
    }
  }
};

// Puts commands in as a plan's run does, in stretches, and sees that the order is kept.
class Watched {
 public:
  explicit Watched(unsigned seed)
      : driver_(pretended()), ordered_(seed), context_(0, driver_), first_(context_), lanes_(first_) {
    lanes_.make(ordered_.commands);
  }
  std::size_t size() const { return ordered_.behind.size(); }

  void put(std::size_t begin, std::size_t end, std::size_t broken = static_cast<std::size_t>(-1)) {
    const auto call = [&](std::size_t command, const Stream& stream) {
      if (command == broken) throw std::runtime_error("broken");
      Done& behind = gpu.streams.at(stream.get());
      for (const std::size_t before : ordered_.behind[command])
        EXPECT_TRUE(behind.contains(before)) << "command " << command << " does not wait for " << before;
      behind.insert(command);
      used_.insert(stream.get());
      put_.insert(command);
    };
    try {
      lanes_.put(begin, end, call);
    } catch (const std::runtime_error&) {
      EXPECT_NE(broken, static_cast<std::size_t>(-1));
    }
    const Done& all = gpu.streams.at(first_.get());
    EXPECT_TRUE(std::includes(all.begin(), all.end(), put_.begin(), put_.end())) << "not joined";
  }
  // Line 0 in order, and elsewhere nothing but what `follows` says.
  void expect_order_without_streams() const {
    std::vector<Done> behind(size());
    std::optional<std::size_t> computed;
    for (std::size_t c = 0; c < size(); ++c) {
      std::vector<std::size_t> direct = lanes_.follows(c);
      if (ordered_.is_first[c] && computed) direct.push_back(*computed);
      for (const std::size_t before : direct) {
        ASSERT_LT(before, c);
        behind[c].insert(behind[before].begin(), behind[before].end());
        behind[c].insert(before);
      }
      for (const std::size_t before : ordered_.behind[c])
        EXPECT_TRUE(behind[c].contains(before)) << "command " << c << " does not follow " << before;
      if (ordered_.is_first[c]) computed = c;
    }
  }
  void begin_again() {
    for (auto& [stream, behind] : gpu.streams) behind.clear();
    put_.clear();
  }
  std::size_t streams() const { return used_.size(); }

 private:
  const Driver driver_;
  const Ordered ordered_;
  const Context context_;
  const Stream first_;
  LaneStreams lanes_;
  Done put_;
  std::set<CUstream> used_;
};

TEST(LaneStreams, OrderWhatThePlanOrdersWhateverIsPutInAtOnce) {
  std::size_t beside = 0;
  for (unsigned seed = 0; seed < seeds(40); ++seed) {
    Watched watched(seed);
    std::mt19937 random(seed);
    for (const std::size_t most : {watched.size(), std::size_t{1}, std::size_t{7}}) {
      watched.begin_again();
      for (std::size_t begin = 0; begin < watched.size();) {
        const std::size_t count = most == 7 ? 1 + random() % most : most;
        const std::size_t end = std::min(begin + count, watched.size());
        watched.put(begin, end);
        begin = end;
      }
    }
    watched.expect_order_without_streams();
    beside += watched.streams() > 1;
    if (::testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(beside, 0u);
}

TEST(LaneStreams, WhatFailsIsJoinedAndTheNextRunIsRight) {
  for (unsigned seed = 0; seed < seeds(10); ++seed) {
    Watched watched(seed);
    for (std::size_t broken = 0; broken < watched.size(); ++broken) {
      watched.begin_again();
      watched.put(0, watched.size(), broken);
      watched.begin_again();
      watched.put(0, watched.size());
    }
    if (::testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
}

}  // namespace
}  // namespace tidemark::cuda

#endif
