#include "tidemark/cuda/engine_choice.h"

#include <gtest/gtest.h>

#include <limits>

namespace tidemark::cuda {
namespace {

TEST(EngineChoice, ItsTextComesBack) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const EngineChoice& choice :
       {EngineChoice{}, EngineChoice{.version = 91002, .engine = 20},
        EngineChoice{.version = 91002, .engine = 4012, .knobs = {{2, 3}, {13, -1}, {0, most}}}}) {
    EXPECT_EQ(engine_choice_of(to_text(choice)), choice) << to_text(choice);
  }
  EXPECT_EQ(to_text({.version = 91002, .engine = 20, .knobs = {{2, 3}, {13, 1}}}),
            "cuDNN 91002, engine 20, knobs 2=3 13=1");
}

TEST(EngineChoice, OtherTextsAreNone) {
  const std::string good = to_text({.version = 91002, .engine = 20, .knobs = {{2, 3}, {13, 1}}});
  for (std::size_t length = 0; length < good.size(); ++length) {
    const std::optional<EngineChoice> cut = engine_choice_of(good.substr(0, length));
    // What is left of a number is a number: it is another choice, never this one.
    if (cut) EXPECT_NE(to_text(*cut), good) << good.substr(0, length);
  }
  for (const char* const text :
       {"", "generated", "cuDNN", "cuDNN , engine 20", "cuDNN 9, engine", "cuDNN 9, engine 20,",
        "cuDNN 9, engine 20, knobs", "cuDNN 9, engine 20, knobs 2", "cuDNN 9, engine 20, knobs 2=",
        "cuDNN 9, engine 20, knobs 2=3 ", "cuDNN 9, engine 20, knobs  2=3", "cuDNN 9, engine 20 knobs 2=3",
        "cuDNN 9, engine 99999999999999999999", "cuDNN 9, engine 20, knobs 2=3x", " cuDNN 9, engine 20"})
    EXPECT_EQ(engine_choice_of(text), std::nullopt) << text;
}

}  // namespace
}  // namespace tidemark::cuda
