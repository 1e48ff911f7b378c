// What a mistake throws: its code, or its message, which must name the user's line.
#pragma once
#include <gmock/gmock.h>

#include <functional>
#include <string>

#include "tidemark/base/error.h"
#include "tidemark/ir/builder.h"

namespace tidemark::testing {

inline ErrorCode code_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode{0};
}

// The message of the error that f causes on train.cpp:88; the line must be in it.
inline std::string error_of(const std::function<void(Builder&)>& f) {
  Graph graph;
  Builder builder(graph);
  builder.set_where({"train.cpp", 88});
  try {
    f(builder);
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("train.cpp:88"));
    return error.what();
  }
  return "no error";
}
inline std::string error_of(ErrorCode code, const std::function<void(Builder&)>& f) {
  return error_of([&](Builder& builder) {
    try {
      f(builder);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      throw;
    }
  });
}

}  // namespace tidemark::testing
