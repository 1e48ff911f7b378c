// What is recorded follows what touches its memory, on a driver that is not there: it notes what each node of
// the recording is put in behind.
#include "tidemark/cuda/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <stdexcept>

#include "tests/support/gpu.h"
#include "tidemark/cuda/loop_moves.h"

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Nodes = std::vector<CUgraphNode>;

struct PretendedRecording {
  std::vector<std::vector<std::size_t>> behind;  // of each node
  Nodes last;                                    // that the next one would be put in behind
  int follows = 0;                               // how often that was set
};
PretendedRecording recording;

CUgraphNode node(std::size_t number) { return reinterpret_cast<CUgraphNode>(number + 1); }

CUresult put_node() {
  std::vector<std::size_t> before;
  for (const CUgraphNode other : recording.last) before.push_back(reinterpret_cast<std::size_t>(other) - 1);
  recording.behind.push_back(std::move(before));
  recording.last = {node(recording.behind.size() - 1)};
  return CUDA_SUCCESS;
}

Driver pretended() {
  Driver driver = tidemark::testing::pretended_driver();
  driver.stream_create = [](CUstream*, unsigned) { return CUDA_SUCCESS; };
  driver.stream_destroy = [](CUstream) { return CUDA_SUCCESS; };
  driver.copy = [](CUdeviceptr, CUdeviceptr, std::size_t, CUstream) { return put_node(); };
  driver.clear = [](CUdeviceptr, unsigned char, std::size_t, CUstream) { return put_node(); };
  driver.capture_info = [](CUstream, CUstreamCaptureStatus*, cuuint64_t*, CUgraph*, const CUgraphNode** nodes,
                           const CUgraphEdgeData**, std::size_t* count) {
    static Nodes given;
    given = recording.last;
    *nodes = given.data();
    *count = given.size();
    return CUDA_SUCCESS;
  };
  driver.capture_follow = [](CUstream, CUgraphNode* nodes, const CUgraphEdgeData*, std::size_t count,
                             unsigned) {
    recording.last.assign(nodes, nodes + count);
    ++recording.follows;
    return CUDA_SUCCESS;
  };
  return driver;
}

class RecorderTest : public ::testing::Test {
 protected:
  RecorderTest() { recording = {}; }
  void touch(CUdeviceptr first, CUdeviceptr last, bool writes) {
    recorder.add(std::array{Access{first, last, writes}}, [] { put_node(); });
  }

  Driver driver = pretended();
  Context context{0, driver};
  Stream stream{context};
  Recorder recorder{stream};
  KernelSet kernels;
  LoopMoves moves{stream, recorder, kernels};
};

TEST_F(RecorderTest, PiecesFollowThoseThatTouchTheirMemoryAndNoOthers) {
  recorder.record([&] {
    touch(0, 10, true);
    touch(20, 30, true);
    touch(0, 10, false);
    recorder.add(std::array{Access{0, 10, true}}, [] {});  // puts nothing in
    touch(5, 25, true);
    touch(40, 50, true);
  });
  EXPECT_THAT(recording.behind,
              ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(0), ElementsAre(1, 2), IsEmpty()));
}

TEST_F(RecorderTest, WhatAPlanOrdersIsFollowedToo) {
  recorder.record([&] {
    touch(0, 10, true);
    touch(20, 30, true);
    recorder.follow_also({1});
    touch(40, 50, true);
    touch(20, 30, false);
    recorder.follow_also({});
    touch(60, 70, true);
  });
  EXPECT_THAT(recording.behind, ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(1), ElementsAre(1), IsEmpty()));
}

// A step of a loop: what it carries changes places, what it keeps is copied, a sum begins as nothing.
TEST_F(RecorderTest, WhatALoopMovesIsInPieces) {
  recorder.record([&] {
    moves.copy(100, 0, 16);
    moves.copy(200, 40, 8);  // of another size: the first one goes in
    const FarMemory far = moves.far(nullptr);
    far.clear(far.self, far_pointer(0), 16);
    far.clear(far.self, far_pointer(300), 16);
    moves.copy(400, 400, 16);  // nothing
    moves.put_copies();
  });
  EXPECT_THAT(recording.behind, ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(0), IsEmpty()));
}

TEST_F(RecorderTest, BesideARecordingNothingIsAskedOfTheStream) {
  touch(0, 10, true);
  EXPECT_THROW(recorder.record([&] {
    touch(0, 10, true);
    throw std::runtime_error("of what is recorded");
  }),
               std::runtime_error);
  EXPECT_FALSE(recorder.is_recording());
  touch(0, 10, true);
  EXPECT_EQ(recording.follows, 1);
  recorder.record([&] { EXPECT_EQ(recorder.pieces(), 0u); });  // begins anew
}

}  // namespace
}  // namespace tidemark::cuda

#endif
