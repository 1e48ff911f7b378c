#include "tidemark/ir/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/toy_ops.h"
#include "tidemark/ir/compare.h"
#include "tidemark/ir/print.h"
#include "tidemark/ir/verify.h"

namespace tidemark {
namespace {

using testing::HasSubstr;

Graph read(const std::string& text) { return parse(text, toy::lookup, "dir/t.ir"); }

// One node in a graph with %x: f32[2].
std::string around(const std::string& node) {
  return "graph(%x: f32[2]) -> (f32[2]) {\n  " + node + "\n  return %x\n}\n";
}

struct Refusal {
  ErrorCode code;
  std::string text;
};
Refusal refusal(const std::string& text) {
  try {
    read(text);
  } catch (const Error& error) {
    EXPECT_TRUE(error.where().known()) << error.what();
    EXPECT_THAT(error.what(), HasSubstr("^ column "));
    return {error.code(), error.what()};
  }
  ADD_FAILURE() << "accepted: " << text;
  return {};
}

void expect_refused(const std::string& text, ErrorCode code, const std::string& part) {
  const Refusal got = refusal(text);
  EXPECT_EQ(got.code, code) << got.text;
  EXPECT_THAT(got.text, HasSubstr(part));
}

TEST(Parse, ReadsWhatAPersonWrites) {
  const Graph graph = read(
      "// a comment\n"
      "graph @f(%x:f32[2],%y : f32[2] donated)->(f32[2]){%out=blend(%x,%y){count=0x10,scale=2,flag=true}\n"
      ": f32[2] return %out}");
  EXPECT_EQ(graph.name, "f");
  EXPECT_TRUE(graph.inputs()[1].donated);
  const auto attrs = unpack<toy::EveryKind>(graph.nodes()[0].attrs);
  EXPECT_EQ(attrs.count, 16);
  EXPECT_EQ(attrs.scale, 2.0);
  EXPECT_TRUE(attrs.flag);
  EXPECT_EQ(graph[graph.outputs()[0]].name, "out");
  EXPECT_NO_THROW(verify(graph));
}

TEST(Parse, ReadsHexadecimalFloatsAndSpecials) {
  const auto scale = [](const std::string& text) {
    return std::get<double>(
        read(around("%y = blend(%x) {scale = " + text + "} : f32[2]")).nodes()[0].attrs[2]);
  };
  EXPECT_EQ(scale("0x1.8p-3"), 0.1875);
  EXPECT_EQ(scale("-0x1p4"), -16.0);
  EXPECT_EQ(scale("1e-5"), 1e-5);
  EXPECT_EQ(scale("-inf"), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(scale("nan")));
}

TEST(Parse, KeepsSourceLines) {
  const Graph graph = read(around("%y = blend(%x) : f32[2] @ \"a b.cc\":77"));
  EXPECT_EQ(graph.nodes()[0].where, SourceLine("a b.cc", 77));
}

TEST(Parse, ProposesTheNearestOp) {
  expect_refused(around("%y = blent(%x) : f32[2]"), ErrorCode::unknown_op, "did you mean 'blend'?");
  expect_refused(around("%y = zzz(%x) : f32[2]"), ErrorCode::unknown_op, "no operation 'zzz'");
}

TEST(Parse, ShowsThePlace) {
  EXPECT_EQ(refusal(around("%y = blend(%x %x) : f32[2]")).text,
            "error[TM0501]: '%' is out of place\n"
            "  --> t.ir:2\n"
            "  expected: ')'\n"
            "  2 |   %y = blend(%x %x) : f32[2]\n"
            "    |                 ^ column 17");
}

TEST(Parse, RefusesBrokenSyntax) {
  expect_refused(around("%y = blend(%x) : f32[2] @ \"\":3"), ErrorCode::syntax, "a file name in quotes");
  for (const char* text :
       {"", "graph", "graph(", "graph()", "graph() ->", "graph() -> (", "graph() -> () {",
        "graph() -> () { return", "graph() -> () { return } x", "graph @ () -> () { return }",
        "graph(%x) -> () { return }", "grapf() -> () { return }", "graph(%x: f99[2]) -> () { return }",
        "graph(%x: f32[2) -> () { return }", "graph() -> () { } ", "graph(%x: f32[-1]) -> () { return }",
        "graph() -> () { return, }", "graph(%1.5: f32[]) -> () { return }"}) {
    EXPECT_EQ(refusal(text).code, ErrorCode::syntax) << text;
  }
}

TEST(Parse, RefusesAttributesTheOpDoesNotHave) {
  expect_refused(around("%y = blend(%x) {speed = 1} : f32[2]"), ErrorCode::bad_attribute,
                 "blend has no attribute 'speed'");
  expect_refused(around("%y = blend(%x) {count = 1, count = 2} : f32[2]"), ErrorCode::bad_attribute,
                 "given twice");
  expect_refused(around("%y = literal() : f32[2]"), ErrorCode::bad_attribute,
                 "the attribute value is missing");
  expect_refused(around("%y = blend(%x) {count = 1.5} : f32[2]"), ErrorCode::syntax, "an integer");
  expect_refused(around("%y = blend(%x) {flag = 1} : f32[2]"), ErrorCode::syntax, "true or false");
  expect_refused(around("%y = blend(%x) {label = x} : f32[2]"), ErrorCode::syntax, "a string");
  expect_refused(around("%y = blend(%x) {dtype = f31} : f32[2]"), ErrorCode::syntax, "a dtype");
}

TEST(Parse, RefusesValuesUndefinedOrDefinedTwice) {
  expect_refused(around("%y = blend(%z) : f32[2]"), ErrorCode::malformed_graph, "%z is not defined above");
  expect_refused(around("%y = blend(%y) : f32[2]"), ErrorCode::malformed_graph, "%y is not defined above");
  expect_refused(around("%x = blend(%x) : f32[2]"), ErrorCode::malformed_graph, "%x is defined twice");
  expect_refused(around("%5, %5 = two(%x) : f32[2], bool[2]"), ErrorCode::malformed_graph,
                 "%5 is defined twice");
  expect_refused("graph(%x: f32[], %x: f32[]) -> () { return }", ErrorCode::malformed_graph,
                 "%x is defined twice");
}

TEST(Parse, ValuesOfARegionAreItsOwn) {
  expect_refused(around("%y = toy_loop(%x) [graph() -> (f32[2]) { return %x }] : f32[2]"),
                 ErrorCode::malformed_graph, "%x is not defined above");
  EXPECT_NO_THROW(read(around("%y = toy_loop(%x) [graph(%x: f32[]) -> (f32[]) { return %x }] : f32[]")));
}

TEST(Parse, RefusesWrongCounts) {
  expect_refused(around("%y = two(%x) : f32[2]"), ErrorCode::malformed_graph,
                 "two has 2 results, 1 are named");
  expect_refused(around("%y = emit(%x) : f32[2]"), ErrorCode::malformed_graph,
                 "emit has 0 results, 1 are named");
  expect_refused(around("blend(%x)"), ErrorCode::malformed_graph, "blend has 1 results, 0 are named");
  expect_refused(around("%a, %b = two(%x, %x) : f32[2], bool[2]"), ErrorCode::wrong_operand_count,
                 "two got 2 operands");
  expect_refused("graph(%x: f32[]) -> (f32[]) { return %x, %x }", ErrorCode::malformed_graph,
                 "2 values are returned");
}

TEST(Parse, HoldsWrittenTypesAgainstTheOp) {
  expect_refused(around("%y = blend(%x) : f32[3]"), ErrorCode::malformed_graph, "expected: f32[2]");
  expect_refused(around("%y = blend(%x) : f64[2]"), ErrorCode::malformed_graph, "gives other types");
  expect_refused("graph(%x: f32[]) -> (f64[]) { return %x }", ErrorCode::malformed_graph, "expected: f32[]");
  expect_refused("graph(%x: f32[2], %y: f32[3]) -> () { %z = blend(%x, %y) : f32[2] return }",
                 ErrorCode::shape_mismatch, "f32[2] and f32[3] differ");
}

TEST(Parse, RefusesNumbersThatDoNotFit) {
  expect_refused(around("%y = blend(%x) {count = 9223372036854775808} : f32[2]"), ErrorCode::syntax,
                 "out of range");
  expect_refused(around("%y = blend(%x) {count = -9223372036854775809} : f32[2]"), ErrorCode::syntax,
                 "out of range");
  expect_refused(around("%y = blend(%x) {count = 99999999999999999999999999} : f32[2]"), ErrorCode::syntax,
                 "out of range");
  EXPECT_NO_THROW(read(around("%y = blend(%x) {count = -9223372036854775808} : f32[2]")));
  expect_refused(around("%y = blend(%x) {scale = 1e999} : f32[2]"), ErrorCode::syntax, "does not fit f64");
  expect_refused(around("%y = literal() {value = f16[] 65520} : f16[]"), ErrorCode::syntax,
                 "does not fit f16");
  expect_refused(around("%y = literal() {value = f32[] 1e39} : f32[]"), ErrorCode::syntax,
                 "does not fit f32");
  expect_refused(around("%y = literal() {value = u8[] 256} : u8[]"), ErrorCode::syntax, "[0, 255]");
  expect_refused(around("%y = literal() {value = u8[] -1} : u8[]"), ErrorCode::syntax, "[0, 255]");
  expect_refused(around("%y = literal() {value = i32[] 2147483648} : i32[]"), ErrorCode::syntax,
                 "out of range");
  expect_refused(around("%y = literal() {value = f32[] nan(0x3f800000)} : f32[]"), ErrorCode::syntax,
                 "not the bits of a NaN");
  expect_refused(around("%y = blend(%x) : f32[2] @ \"f\":4294967296"), ErrorCode::syntax, "out of range");
}

TEST(Parse, RefusesAbsurdShapesWithoutAllocating) {
  expect_refused("graph(%x: f32[1, 1, 1, 1, 1, 1, 1, 1, 1]) -> () { return }", ErrorCode::syntax,
                 "more than 8 entries");
  expect_refused("graph(%x: f32[281474976710657]) -> () { return }", ErrorCode::syntax, "out of range");
  expect_refused("graph(%x: f32[4294967296, 4294967296]) -> () { return }", ErrorCode::syntax,
                 "too many bytes");
  expect_refused("graph(%x: f32[0, 4294967296, 4294967296]) -> () { return }", ErrorCode::syntax,
                 "too many bytes");
  expect_refused(around("%y = literal() {value = f32[1099511627776] 1.0} : f32[]"), ErrorCode::syntax,
                 "cannot be repeated");
  expect_refused(around("%y = literal() {value = f32[1099511627776] []} : f32[]"), ErrorCode::syntax,
                 "0 elements");
  expect_refused(around("%y = literal() {value = f32[1099511627776] hex \"00\"} : f32[]"), ErrorCode::syntax,
                 "2 hexadecimal digits");
}

TEST(Parse, RefusesBrokenLiterals) {
  expect_refused(around("%y = literal() {value = f32[2] [1, 2, 3]} : f32[2]"), ErrorCode::syntax,
                 "3 elements");
  expect_refused(around("%y = literal() {value = u8[1] hex \"0g\"} : u8[1]"), ErrorCode::syntax,
                 "no byte of u8");
  expect_refused(around("%y = literal() {value = bool[1] hex \"02\"} : bool[1]"), ErrorCode::syntax,
                 "no byte of bool");
}

TEST(Parse, RefusesRegionsNestedTooDeep) {
  std::string open, close;
  for (int i = 0; i < 100000; ++i) open += "graph() -> () { toy_loop() [", close += "] return }";
  expect_refused(open + "graph() -> () { return }" + close, ErrorCode::syntax, "nested more than 64 deep");
}

TEST(Parse, LongTextsTakeLinearTime) {
  std::string text = "graph(%v0: f32[2]) -> (f32[2]) {\n";
  for (int i = 0; i < 30000; ++i)
    text += fmt::format("  %v{} = blend(%v{}, %v{}) : f32[2]\n", i + 1, i, i / 2);
  text += "  return %v30000\n}\n";
  const Graph graph = read(text);
  EXPECT_EQ(graph.nodes().size(), 30000u);
  EXPECT_EQ(print(graph), text);
}

}  // namespace
}  // namespace tidemark
