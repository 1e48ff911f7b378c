#include "tidemark/base/error.h"

#include <gtest/gtest.h>

#include "tidemark/base/check.h"
#include "tidemark/base/result.h"

namespace tidemark {
namespace {

TEST(Error, ShowsItsPartsInAFixedOrder) {
  const Error error(ErrorCode::bad_attribute, {.what = "matmul: the inner sizes differ: 784 and 512",
                                               .expected = "equal K",
                                               .where = {"src/train.cpp", 88},
                                               .help = "transpose the right operand",
                                               .notes = {"first note", "second note"}});
  EXPECT_STREQ(error.what(),
               "error[TM0203]: matmul: the inner sizes differ: 784 and 512\n"
               "  --> train.cpp:88\n"
               "  expected: equal K\n"
               "  first note\n"
               "  second note\n"
               "  help: transpose the right operand");
  EXPECT_EQ(error.code(), ErrorCode::bad_attribute);
  EXPECT_EQ(error.where(), SourceLine("src/train.cpp", 88));
  EXPECT_EQ(error.parts().notes.size(), 2u);
}

TEST(Error, LeavesOutWhatIsEmpty) {
  EXPECT_STREQ(Error(ErrorCode::syntax, {.what = "no"}).what(), "error[TM0501]: no");
}

TEST(Error, FailThrowsIt) {
  try {
    fail(ErrorCode::numeric, {.what = "singular"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::numeric);
  }
}

TEST(Check, IsSilentWhenItHolds) { EXPECT_NO_THROW(TM_CHECK(1 + 1 == 2, "{}", 3)); }

TEST(Check, NamesConditionPlaceAndValues) {
  try {
    const int size = 3;
    TM_CHECK(size == 4, "size {}", size);
    FAIL();
  } catch (const InternalError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("size == 4 does not hold (error_test.cc:"), std::string::npos) << text;
    EXPECT_NE(text.find("size 3"), std::string::npos) << text;
  }
}

TEST(Check, EvaluatesItsMessageOnlyOnFailure) {
  int evaluated = 0;
  TM_CHECK(true, "{}", ++evaluated);
  EXPECT_EQ(evaluated, 0);
}

TEST(Result, HoldsAValueOrAReason) {
  const Result<int, std::string> good = 3, bad = std::string("why");
  EXPECT_TRUE(good.ok());
  EXPECT_EQ(good.value(), 3);
  EXPECT_FALSE(bad);
  EXPECT_EQ(bad.error(), "why");
  EXPECT_THROW(bad.value(), InternalError);
  EXPECT_THROW(good.error(), InternalError);
}

}  // namespace
}  // namespace tidemark
