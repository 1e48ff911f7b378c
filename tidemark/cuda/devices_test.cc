// What a machine without a GPU is told, and what a driver's answers become.
#include "tidemark/cuda/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tidemark/cuda/driver.h"
#include "tidemark/cuda/shared_library.h"

namespace tidemark::cuda {
namespace {

using ::testing::HasSubstr;

TEST(Devices, AListNeverThrowsAndAnEmptyOneSaysWhy) {
  const DeviceList list = devices();
  EXPECT_NE(list.devices.empty(), list.reason.empty());
  if (!list.devices.empty()) return;
  EXPECT_EQ(to_string(list), "CUDA: none: " + list.reason + "\n");
}

TEST(Devices, ALibraryThatIsNotThereIsSaidToBeMissing) {
  const std::string names[] = {"libtidemark_nowhere.so.1", "libtidemark_nowhere.so"};
  const std::string folders[] = {"/no/such/folder"};
  const auto opened = SharedLibrary::open(names, folders);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error(), "libtidemark_nowhere.so.1 is not on this machine");
}

TEST(Devices, ALibraryThatCannotBeOpenedSaysWhatTheLoaderSays) {
  const std::string names[] = {TIDEMARK_SOURCE_DIR "/README.md"};
  const auto opened = SharedLibrary::open(names);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error(), HasSubstr("cannot be opened"));
}

TEST(Devices, AreOneLineEachForPeople) {
  const DeviceList list{.devices = {{"NVIDIA H200", Bytes(std::int64_t{139} << 30), 132, {9, 0}},
                                    {"NVIDIA B200", Bytes(std::int64_t{178} << 30), 148, {10, 0}}},
                        .reason = ""};
  EXPECT_EQ(to_string(list),
            "CUDA 0: NVIDIA H200, 139.00 GiB, 132 multiprocessors, sm_90\n"
            "CUDA 1: NVIDIA B200, 178.00 GiB, 148 multiprocessors, sm_100\n");
}

#ifdef TIDEMARK_HAS_CUDA

struct Answers {
  CUresult init = CUDA_SUCCESS, count_result = CUDA_SUCCESS;
  int count = 2, silent = -1;  // silent: the device whose memory nobody knows
};
Answers answers;

Driver pretended() {
  Driver driver;
  driver.init = [](unsigned) { return answers.init; };
  driver.error_name = [](CUresult error, const char** name) {
    *name = error == CUDA_ERROR_UNKNOWN ? "CUDA_ERROR_UNKNOWN" : nullptr;
    return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  };
  driver.device_count = [](int* count) {
    *count = answers.count;
    return answers.count_result;
  };
  driver.device = [](CUdevice* device, int number) {
    *device = number;
    return CUDA_SUCCESS;
  };
  driver.device_name = [](char* name, int size, CUdevice device) {
    std::strncpy(name, device == 0 ? "first" : "second", static_cast<std::size_t>(size));
    return CUDA_SUCCESS;
  };
  driver.device_memory = [](std::size_t* bytes, CUdevice device) {
    *bytes = std::size_t{1} << 37;
    return device == answers.silent ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
  };
  driver.device_attribute = [](int* value, CUdevice_attribute attribute, CUdevice device) {
    *value = attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT       ? 100 + device
             : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9
                                                                         : 0;
    return CUDA_SUCCESS;
  };
  return driver;
}

TEST(Devices, AreWhatTheDriverSays) {
  answers = {};
  const DeviceList list = devices(pretended());
  EXPECT_EQ(list.reason, "");
  ASSERT_EQ(list.devices.size(), 2u);
  EXPECT_EQ(list.devices[1].name, "second");
  EXPECT_EQ(list.devices[1].memory.count, std::int64_t{1} << 37);
  EXPECT_EQ(list.devices[1].multiprocessors, 101);
  EXPECT_EQ(list.devices[1].architecture, (Architecture{9, 0}));
}

TEST(Devices, ADriverThatFailsIsTheReason) {
  answers = {.init = CUDA_ERROR_NO_DEVICE};
  EXPECT_EQ(devices(pretended()).reason, "the driver finds no device");
  answers = {.init = CUDA_ERROR_UNKNOWN};
  EXPECT_EQ(devices(pretended()).reason, "the driver does not start: CUDA_ERROR_UNKNOWN");
  answers = {.init = CUDA_ERROR_OUT_OF_MEMORY};
  EXPECT_EQ(devices(pretended()).reason, "the driver does not start: error 2");
  answers = {.count_result = CUDA_ERROR_UNKNOWN};
  EXPECT_THAT(devices(pretended()).reason, HasSubstr("does not count"));
  answers = {.count = 0};
  EXPECT_EQ(devices(pretended()).reason, "the driver finds no device");
}

TEST(Devices, OneThatDoesNotAnswerLeavesTheOthers) {
  answers = {.silent = 0};
  const DeviceList list = devices(pretended());
  ASSERT_EQ(list.devices.size(), 1u);
  EXPECT_EQ(list.devices[0].name, "second");
  EXPECT_THAT(to_string(list), HasSubstr("does not tell of device 0: CUDA_ERROR_UNKNOWN"));
}

#else

TEST(Devices, ALibraryBuiltWithoutCudaSaysSo) {
  EXPECT_THAT(devices().reason, HasSubstr("built without CUDA"));
}

#endif

}  // namespace
}  // namespace tidemark::cuda
