// Data of GPUs, and files of machines that stand in for it.
#include "tidemark/cuda/machine.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/scratch_folder.h"
#include "tidemark/base/error.h"
#include "tidemark/base/text_file.h"

namespace tidemark::cuda {
namespace {

TEST(CudaMachine, TheNearestOfTheLibrarysMachinesIsTaken) {
  EXPECT_EQ(&machine_for("NVIDIA H100 80GB HBM3"), &h100_machine());
  EXPECT_EQ(&machine_for("NVIDIA H200"), &h200_machine());
  EXPECT_EQ(&machine_for("some other"), &h200_machine());
}

TEST(CudaMachine, BothCanBeKeptAsFilesAndTheH100HasTheSlowerMemory) {
  for (const Machine* machine : {&h100_machine(), &h200_machine()})
    EXPECT_EQ(machine_from_json(to_json(*machine)), *machine);
  const Curve &slow = h100_machine()[WorkKind::elementwise].bytes,
              &fast = h200_machine()[WorkKind::elementwise].bytes;
  EXPECT_LT(slow.at(1e9), 3.35e12);
  EXPECT_LT(slow.at(1e9), 0.75 * fast.at(1e9));
  EXPECT_EQ(slow.at(1e6), fast.at(1e6));  // in the cache
  EXPECT_EQ(h100_machine()[WorkKind::contraction].flops, h200_machine()[WorkKind::contraction].flops);
}

TEST(CudaMachine, AFileThatIsNamedCountsForTheGpuThatItIsOf) {
  const testing::ScratchFolder folder;
  Machine measured = h200_machine();
  measured.overhead *= 2;
  const std::string path = folder.path("gpu.json");
  write_text_file(path, to_json(measured));
  ::unsetenv("TIDEMARK_CUDA_MACHINE");
  EXPECT_EQ(machine_from_file("NVIDIA H200"), nullptr);
  ::setenv("TIDEMARK_CUDA_MACHINE", path.c_str(), 1);
  const std::unique_ptr<const Machine> found = machine_from_file("NVIDIA H200");
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, measured);
  EXPECT_EQ(machine_from_file("NVIDIA H100 80GB HBM3"), nullptr);
  ::setenv("TIDEMARK_CUDA_MACHINE", folder.path("absent.json").c_str(), 1);
  EXPECT_THROW(machine_from_file("NVIDIA H200"), Error);
  ::unsetenv("TIDEMARK_CUDA_MACHINE");
}

}  // namespace
}  // namespace tidemark::cuda
