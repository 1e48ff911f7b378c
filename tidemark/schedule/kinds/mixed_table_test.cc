#include "tidemark/schedule/kinds/mixed_table.h"

#include <gtest/gtest.h>

namespace tidemark::schedule {
namespace {

TEST(MixedTable, TellsFewAmountsApartWhereSizesAreAlmostMultiples) {
  const MixedTable table(1000, 2 << 20, (1 << 20) + 256, 192 << 20);
  EXPECT_EQ(table.state_units(), 2);
  EXPECT_EQ(table.record_units(), 1);
  EXPECT_EQ(table.units(), 191);  // the 256 bytes of 192 records do not fit
}

TEST(MixedTable, KeepsTheBytesOfSmallTables) {
  const MixedTable table(10, 21, 10, 100);
  EXPECT_EQ(table.state_units(), 21);
  EXPECT_EQ(table.record_units(), 10);
}

}  // namespace
}  // namespace tidemark::schedule
