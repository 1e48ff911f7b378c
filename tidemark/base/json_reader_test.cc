#include "tidemark/base/json_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace tidemark {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr JsonFileKind kind{"test file", ErrorCode::bad_file, ErrorCode::syntax, "[...]"};

std::string error_of(std::string_view text, const std::function<void(const JsonReader&)>& read) {
  try {
    const JsonDocument document(text, kind, "dir/t.json");
    read(JsonReader(document));
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(JsonReader, ReadsFieldsAndLists) {
  const JsonDocument document(
      R"({"n": -3, "x": 2.5e1, "s": "ü", "b": true, "l": [1, [2, 3], {}], "z": null})", kind);
  const JsonReader root(document);
  EXPECT_EQ(root.field("n").integer(), -3);
  EXPECT_EQ(root.field("n").number(), -3);
  EXPECT_EQ(root.field("x").number(), 25);
  EXPECT_EQ(root.field("x").whole(), 25);
  EXPECT_EQ(root.field("s").text(), "ü");
  EXPECT_TRUE(root.field("b").boolean());
  EXPECT_EQ(root.field("z").kind(), JsonKind::null);
  EXPECT_FALSE(root.has("y"));
  std::vector<JsonKind> kinds;
  root.field("l").each([&](const JsonReader& r) { kinds.push_back(r.kind()); });
  EXPECT_EQ(kinds, (std::vector{JsonKind::integer, JsonKind::list, JsonKind::object}));
}

TEST(JsonReader, EachFieldComesInTheOrderOfTheText) {
  const JsonDocument document(R"({"b": [1, {"c": 2}], "a": {}, "b": 3})", kind);
  std::string names;
  JsonReader(document).each_field([&](std::string_view name, const JsonReader& value) {
    names += std::string(name) + std::string(name_of(value.kind())) + " ";
  });
  EXPECT_EQ(names, "ba list aan object ba number ");
  EXPECT_THAT(error_of("[]", [](const JsonReader& r) { r.each_field([](auto, const JsonReader&) {}); }),
              HasSubstr("not an object"));
}

TEST(JsonReader, ComplaintsNameTheFileTheLineAndTheWay) {
  const char* text = "{\"a\": [[], {\"x\": 1,\n \"b\": [0, 1,\n \"two\"]}]}";
  const auto read = [](const JsonReader& root) {
    root.field("a").each([](const JsonReader& r) {
      if (r.kind() != JsonKind::object) return;
      r.field("b").each([](const JsonReader& n) { n.integer(); });
    });
  };
  EXPECT_THAT(error_of(text, read), AllOf(HasSubstr("TM0503"), HasSubstr("t.json:3"),
                                          HasSubstr("test file: /a/1/b/2: not a whole number")));
}

TEST(JsonReader, RefusesWhatIsMissingUnknownOrThereTwice) {
  EXPECT_THAT(error_of("{}", [](const JsonReader& r) { r.field("a"); }),
              HasSubstr("test file: /: the field `a` is missing"));
  EXPECT_THAT(error_of(R"({"b": 1})", [](const JsonReader& r) { r.only({"a"}); }),
              HasSubstr("unknown field `b`"));
  EXPECT_THAT(error_of("{\"a\": 1,\n\"a\": 1}", [](const JsonReader& r) { r.field("a"); }),
              AllOf(HasSubstr("`a` is there twice"), HasSubstr("t.json:2")));
  EXPECT_THAT(error_of("[]", [](const JsonReader& r) { r.has("a"); }), HasSubstr("not an object"));
  EXPECT_THAT(error_of("{}", [](const JsonReader& r) { r.each([](const JsonReader&) {}); }),
              HasSubstr("not a list"));
}

TEST(JsonReader, ChecksNumbers) {
  const auto integer = [](const JsonReader& r) { r.integer(0, 9); };
  EXPECT_THAT(error_of("10", integer), HasSubstr("10 is out of range"));
  EXPECT_THAT(error_of("1.0", integer), HasSubstr("not a whole number of 64 bits"));
  EXPECT_THAT(error_of("9223372036854775808", integer), HasSubstr("not a whole number of 64 bits"));
  EXPECT_THAT(error_of("0", [](const JsonReader& r) { r.positive(); }), HasSubstr("out of range"));
  EXPECT_THAT(error_of("1e999", integer), HasSubstr("number overflow"));
  const JsonDocument large("9223372036854775808", kind), half("0.5", kind);
  EXPECT_EQ(JsonReader(large).number(), 9223372036854775808.0);
  EXPECT_EQ(JsonReader(large).whole(), std::nullopt);
  EXPECT_EQ(JsonReader(large).number_text(), "9223372036854775808");
  EXPECT_EQ(JsonReader(half).whole(), std::nullopt);
}

TEST(JsonReader, TextThatIsNoJsonIsToldByLineAndColumn) {
  EXPECT_THAT(error_of("[\n nope]", [](const JsonReader&) {}),
              AllOf(HasSubstr("TM0501"), HasSubstr("test file: not JSON: line 2"), HasSubstr("t.json:2"),
                    HasSubstr("expected: [...]")));
  EXPECT_THAT(error_of(" \n", [](const JsonReader&) {}), HasSubstr("not JSON: the file is empty"));
}

TEST(JsonReader, DeepNestingNeedsNoStack) {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  const JsonDocument document("{\"deep\": " + deep + ", \"after\": 1}", kind);
  EXPECT_EQ(JsonReader(document).field("after").integer(), 1);
}

}  // namespace
}  // namespace tidemark
