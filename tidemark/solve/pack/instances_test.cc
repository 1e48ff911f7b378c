// Third-party packing instances; capacities and bounds as published with them.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tidemark/solve/pack/check.h"
#include "tidemark/solve/pack/csv.h"
#include "tidemark/solve/pack/pack.h"

namespace tidemark {
namespace {

struct Instance {
  const char* file;
  std::int64_t capacity, bound;
};

class PackInstances : public ::testing::TestWithParam<Instance> {
 protected:
  void SetUp() override {
    const std::string path = std::string(TIDEMARK_SHARED_DATA) + "/layout/" + GetParam().file;
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "no instance at " << path;
    items_ = read_pack_table(path).items;
  }
  std::vector<PackItem> items_;
};

TEST_P(PackInstances, FitTheirCapacity) {
  const PackResult result = pack(items_, {.capacity = GetParam().capacity, .work = 20'000'000'000});
  EXPECT_EQ(result.status, PackStatus::fits);
  EXPECT_LE(result.height, GetParam().capacity);
  EXPECT_FALSE(check_packing(items_, result.offsets));
}

TEST_P(PackInstances, HaveTheirBound) { EXPECT_EQ(max_load(items_), GetParam().bound); }

INSTANTIATE_TEST_SUITE_P(ThirdParty, PackInstances,
                         ::testing::Values(Instance{"A.1048576.csv", 1048576, 1048576},
                                           Instance{"B.1048576.csv", 1048576, 1048576},
                                           Instance{"C.1048576.csv", 1039360, 1039360},
                                           Instance{"D.1048576.csv", 1046528, 986112},
                                           Instance{"E.1048576.csv", 1048576, 1048576},
                                           Instance{"F.1048576.csv", 1048576, 1048576},
                                           Instance{"resnet50.csv", 1515472556, 1515472556}),
                         [](const auto& param) { return std::string(param.param.file).substr(0, 1); });

}  // namespace
}  // namespace tidemark
