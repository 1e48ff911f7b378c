#include "tidemark/ir/print.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/support/literals.h"
#include "tests/support/toy_ops.h"
#include "tidemark/ir/compare.h"
#include "tidemark/ir/limits.h"
#include "tidemark/ir/parse.h"

namespace tidemark {
namespace {

using testing::literal_of;

// A graph with everything in it.
Graph everything() {
  Graph graph;
  graph.name = "all";
  Builder builder(graph);
  const Var x = builder.input({DType::f32, {2, 3}}, "x");
  const Var w = builder.input({DType::f32, {2, 3}}, "params.w");
  graph.inputs()[1].donated = true;
  const Var odd = builder.input({DType::i64, {}}, "odd name");
  builder.set_where({"src/mlp.cc", 12});
  const Var a = builder.call1(toy::blend, {x, w},
                              pack(toy::EveryKind{.scale = 0.1, .label = "a\"b\n", .dims = {1, -2}}));
  graph[a.id()].name = "h";
  const std::vector<Var> pair = builder.call(toy::two, std::vector{a});
  graph[pair[0].id()].name = "h";
  builder.set_where({});
  builder.call(toy::emit, std::vector{pair[1]});
  Graph body, inner;
  Builder body_builder(body), inner_builder(inner);
  body.name = "the body";
  const Var c = body_builder.input({DType::f32, {2, 3}}, "c");
  const Var inner_in = inner_builder.input({DType::f32, {}});
  inner.add_output(inner_in.id());
  body_builder.call(toy::loop, std::vector{c}, {}, {inner, inner});
  body.add_output(body_builder.call1(toy::odd_name, {c}).id());
  const Var r = builder.call(toy::loop, std::vector{pair[0]}, {}, {body}).front();
  const Var k =
      builder.call1(toy::literal, {}, pack(toy::LiteralAttrs{literal_of<float>({2}, {1.5f, -0.0f})}));
  graph.add_output(r.id());
  graph.add_output(odd.id());
  graph.add_output(k.id());
  return graph;
}

TEST(Print, ShowsEverythingInItsPlace) {
  EXPECT_EQ(
      print(everything()),
      R"(graph @all(%x: f32[2, 3], %params.w: f32[2, 3] donated, %"odd name": i64[]) -> (f32[2, 3], i64[], f32[2]) {
  %h = blend(%x, %params.w) {scale = 0.1, label = "a\"b\n", dims = [1, -2]} : f32[2, 3]  @ "src/mlp.cc":12
  %h#4, %5 = two(%h) : f32[2, 3], bool[2, 3]  @ "src/mlp.cc":12
  emit(%5)
  %6 = toy_loop(%h#4) [
    graph @"the body"(%c: f32[2, 3]) -> (f32[2, 3]) {
      %1, %2 = toy_loop(%c) [
        graph(%0: f32[]) -> (f32[]) {
          return %0
        },
        graph(%0: f32[]) -> (f32[]) {
          return %0
        }
      ] : f32[], f32[]
      %3 = "odd name!"(%c) : f32[2, 3]
      return %3
    }
  ] : f32[2, 3]
  %7 = literal() {value = f32[2] [1.5, -0.0]} : f32[2]
  return %6, %"odd name", %7
}
)");
}

TEST(Print, ReadsBackAsTheSameGraph) {
  const Graph graph = everything();
  const std::string text = print(graph);
  const Graph back = parse(text, toy::lookup);
  EXPECT_TRUE(same_graph(graph, back));
  EXPECT_EQ(print(back), text);
}

TEST(Print, InputsAddedLateComeFirst) {
  Graph graph;
  Builder builder(graph);
  const Var x = builder.input({DType::f32, {}});
  const Var y = builder.call1(toy::blend, {x}, pack(toy::EveryKind{}));
  const Var late = builder.input({DType::f32, {}});
  graph.add_output(builder.call1(toy::blend, {y, late}, pack(toy::EveryKind{})).id());
  const std::string text = print(graph);
  EXPECT_EQ(text,
            "graph(%0: f32[], %1: f32[]) -> (f32[]) {\n"
            "  %2 = blend(%0) : f32[]\n"
            "  %3 = blend(%2, %1) : f32[]\n"
            "  return %3\n"
            "}\n");
  EXPECT_TRUE(same_graph(parse(text, toy::lookup), graph));
}

// Prints a literal inside a graph and reads it back.
Literal round_trip(const Literal& literal) {
  Graph graph;
  Builder builder(graph);
  graph.add_output(builder.call1(toy::literal, {}, pack(toy::LiteralAttrs{literal})).id());
  return std::get<Literal>(parse(print(graph), toy::lookup).nodes()[0].attrs[0]);
}

template <class T>
void expect_every_bit_pattern_of_16() {
  Literal literal{.dtype = dtype_of<T>, .shape = {128}, .bytes = std::vector<std::byte>(256)};
  for (unsigned base = 0; base < 65536; base += 128) {
    for (unsigned i = 0; i < 128; ++i) {
      const auto bits = static_cast<std::uint16_t>(base + i);
      std::memcpy(literal.bytes.data() + 2 * i, &bits, 2);
    }
    ASSERT_EQ(round_trip(literal), literal) << print(literal);
  }
}
TEST(Print, EveryF16ReadsBackBitForBit) { expect_every_bit_pattern_of_16<Float16>(); }
TEST(Print, EveryBf16ReadsBackBitForBit) { expect_every_bit_pattern_of_16<BFloat16>(); }

TEST(Print, FloatsAreShortAndExact) {
  EXPECT_EQ(print(AttrValue(1.0)), "1.0");
  EXPECT_EQ(print(AttrValue(0.1)), "0.1");
  EXPECT_EQ(print(AttrValue(-0.0)), "-0.0");
  EXPECT_EQ(print(AttrValue(1e300)), "1e+300");
  EXPECT_EQ(print(AttrValue(-std::numeric_limits<double>::infinity())), "-inf");
  EXPECT_EQ(print(AttrValue(std::bit_cast<double>(0x7ff8000000000000u))), "nan");
  EXPECT_EQ(print(AttrValue(std::bit_cast<double>(0xfff8000000000001u))), "nan(0xfff8000000000001)");
  using Limits = std::numeric_limits<double>;
  const Literal doubles =
      literal_of<double>({8}, {0.1, Limits::denorm_min(), Limits::max(), Limits::min(), 1.0 / 3,
                               -Limits::infinity(), std::bit_cast<double>(0x7ff0000000000001u), 0});
  EXPECT_EQ(round_trip(doubles), doubles);
  using FloatLimits = std::numeric_limits<float>;
  const Literal floats = literal_of<float>({6}, {0.1f, FloatLimits::denorm_min(), FloatLimits::max(),
                                                 16777217.0f, std::bit_cast<float>(0xffc12345u), -0.0f});
  EXPECT_EQ(round_trip(floats), floats);
}

TEST(Print, LiteralsTakeTheShortestForm) {
  const auto text = [](const Literal& literal) { return print(AttrValue(literal)); };
  EXPECT_EQ(text(literal_of<float>({}, {2.5f})), "f32[] 2.5");
  EXPECT_EQ(text(literal_of<std::int32_t>({2, 2}, {7, 7, 7, 7})), "i32[2, 2] 7");
  EXPECT_EQ(text(literal_of<bool>({3}, {true, false, true})), "bool[3] [true, false, true]");
  EXPECT_EQ(text(literal_of<std::uint8_t>({0}, {})), "u8[0] []");
  Literal large{.dtype = DType::u8, .shape = {300}, .bytes = std::vector<std::byte>(300)};
  large.bytes[1] = std::byte{0xab};
  EXPECT_TRUE(text(large).starts_with("u8[300] hex \"00ab00"));
  EXPECT_EQ(round_trip(large), large);
  const Literal limits = literal_of<std::int64_t>(
      {2}, {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()});
  EXPECT_EQ(round_trip(limits), limits);
  const Literal zeros{.dtype = DType::f64, .shape = {4096}, .bytes = std::vector<std::byte>(32768)};
  EXPECT_EQ(round_trip(zeros), zeros);
}

TEST(Print, RefusesALiteralThatIsNone) {
  EXPECT_FALSE(is_well_formed(Literal{}));
  EXPECT_THROW(print(AttrValue(Literal{})), InternalError);
}

}  // namespace
}  // namespace tidemark
