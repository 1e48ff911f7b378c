#include "tidemark/opt/simplify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/support/graph_text.h"
#include "tests/support/literals.h"
#include "tidemark/cpu/interpret.h"
#include "tidemark/ir/compare.h"
#include "tidemark/ir/verify.h"
#include "tidemark/opt/dce.h"

namespace tidemark {
namespace {

using testing::bit_difference;
using testing::literal_of;
using testing::NaNs;

// Graphs read x: f32[8], y: f32[8], i: i32[8], p: bool[8], h: f16[8], m: f32[2, 4]; the body is written as
// lines.
struct Case {
  const char* rule;
  const char* before;
  const char* after;  // "" : must stay as it is
};

std::string around(const std::string& body) {
  const std::size_t last = body.rfind("return ");
  const std::string type = body.substr(last + 7);  // "TYPE %value"
  const std::size_t space = type.find(" %");
  return "graph(%x: f32[8], %y: f32[8], %i: i32[8], %p: bool[8], %h: f16[8], %m: f32[2, 4]) -> (" +
         type.substr(0, space) + ") {" + body.substr(0, last) + "return" + type.substr(space) + "}";
}

const Case cases[] = {
    {"mul(x, 1) → x", "%c = constant() {value = f32[] 1} : f32[] %z = mul(%x, %c) : f32[8] return f32[8] %z",
     "return f32[8] %x"},
    {"mul(x, 1) → x",
     "%c = constant() {value = f32[8] 1} : f32[8] %z = mul(%c, %x) : f32[8] return f32[8] %z",
     "return f32[8] %x"},
    {"mul(x, 1) → x", "%c = constant() {value = f16[] 1} : f16[] %z = mul(%h, %c) : f16[8] return f16[8] %z",
     "return f16[8] %h"},
    {"mul(x, 1) → x",
     "%c = constant() {value = f32[2, 8] 1} : f32[2, 8] %z = mul(%x, %c) : f32[2, 8] return f32[2, 8] %z",
     ""},
    {"mul(x, 1) → x", "%c = constant() {value = f32[] 0} : f32[] %z = mul(%x, %c) : f32[8] return f32[8] %z",
     ""},
    {"div(x, 1) → x", "%c = constant() {value = i32[] 1} : i32[] %z = div(%i, %c) : i32[8] return i32[8] %z",
     "return i32[8] %i"},
    {"div(x, 1) → x", "%c = constant() {value = i32[] 1} : i32[] %z = div(%c, %i) : i32[8] return i32[8] %z",
     ""},
    {"add(x, -0) → x",
     "%c = constant() {value = f32[] -0.0} : f32[] %z = add(%c, %x) : f32[8] return f32[8] %z",
     "return f32[8] %x"},
    {"add(x, -0) → x",
     "%c = constant() {value = f32[] 0.0} : f32[] %z = add(%x, %c) : f32[8] return f32[8] %z", ""},
    {"add(x, -0) → x", "%c = constant() {value = i32[] 0} : i32[] %z = add(%i, %c) : i32[8] return i32[8] %z",
     "return i32[8] %i"},
    {"sub(x, +0) → x",
     "%c = constant() {value = f32[] 0.0} : f32[] %z = sub(%x, %c) : f32[8] return f32[8] %z",
     "return f32[8] %x"},
    {"sub(x, +0) → x",
     "%c = constant() {value = f32[] -0.0} : f32[] %z = sub(%x, %c) : f32[8] return f32[8] %z", ""},
    {"sub(x, +0) → x",
     "%c = constant() {value = f32[] 0.0} : f32[] %z = sub(%c, %x) : f32[8] return f32[8] %z", ""},
    {"mul(x, -1) → neg(x)",
     "%c = constant() {value = f32[] -1} : f32[] %z = mul(%c, %x) : f32[8] return f32[8] %z",
     "%z = neg(%x) : f32[8] return f32[8] %z"},
    {"div(x, 2^k) → mul(x, 2^-k)",
     "%c = constant() {value = f32[] -8} : f32[] %z = div(%x, %c) : f32[8] return f32[8] %z",
     "%2 = constant() {value = f32[] -0.125} : f32[] %z = mul(%x, %2) : f32[8] return f32[8] %z"},
    {"div(x, 2^k) → mul(x, 2^-k)",
     "%c = constant() {value = f32[] 3} : f32[] %z = div(%x, %c) : f32[8] return f32[8] %z", ""},
    {"div(x, 2^k) → mul(x, 2^-k)",
     "%c = constant() {value = f16[] 32768} : f16[] %z = div(%h, %c) : f16[8] return f16[8] %z", ""},
    {"div(x, 2^k) → mul(x, 2^-k)",
     "%c = constant() {value = f16[] 16384} : f16[] %z = div(%h, %c) : f16[8] return f16[8] %z",
     "%2 = constant() {value = f16[] 0x1p-14} : f16[] %z = mul(%h, %2) : f16[8] return f16[8] %z"},
    {"neg(neg(x)) → x", "%a = neg(%i) : i32[8] %z = neg(%a) : i32[8] return i32[8] %z", "return i32[8] %i"},
    {"neg(neg(x)) → x", "%a = logical_not(%p) : bool[8] %z = logical_not(%a) : bool[8] return bool[8] %z",
     "return bool[8] %p"},
    {"abs(abs(x)) → abs(x), likewise relu, floor, ceil, round",
     "%a = relu(%x) : f32[8] %z = relu(%a) : f32[8] return f32[8] %z",
     "%a = relu(%x) : f32[8] return f32[8] %a"},
    {"square(neg(x)) → square(x), likewise abs",
     "%a = neg(%x) : f32[8] %z = abs(%a) : f32[8] return f32[8] %z",
     "%z = abs(%x) : f32[8] return f32[8] %z"},
    {"square(neg(x)) → square(x), likewise abs",
     "%a = abs(%i) : i32[8] %z = square(%a) : i32[8] return i32[8] %z",
     "%z = square(%i) : i32[8] return i32[8] %z"},
    {"square(neg(x)) → square(x), likewise abs",
     "%u = cast(%i) {dtype = u8} : u8[8] %a = neg(%u) : u8[8] %z = abs(%a) : u8[8] return u8[8] %z", ""},
    {"mul(neg(x), neg(y)) → mul(x, y), likewise div",
     "%a = neg(%i) : i32[8] %z = div(%a, %a) : i32[8] return i32[8] %z", ""},
    {"mul(neg(x), neg(y)) → mul(x, y), likewise div",
     "%a = neg(%i) : i32[8] %z = mul(%a, %a) : i32[8] return i32[8] %z",
     "%z = mul(%i, %i) : i32[8] return i32[8] %z"},
    {"add(x, neg(y)) → sub(x, y)", "%a = neg(%x) : f32[8] %z = add(%a, %y) : f32[8] return f32[8] %z",
     "%z = sub(%y, %x) : f32[8] return f32[8] %z"},
    {"sub(x, neg(y)) → add(x, y)", "%a = neg(%y) : f32[8] %z = sub(%x, %a) : f32[8] return f32[8] %z",
     "%z = add(%x, %y) : f32[8] return f32[8] %z"},
    {"mul(neg(x), neg(y)) → mul(x, y), likewise div",
     "%a = neg(%x) : f32[8] %b = neg(%y) : f32[8] %z = div(%a, %b) : f32[8] return f32[8] %z",
     "%z = div(%x, %y) : f32[8] return f32[8] %z"},
    {"maximum(x, x) → x, likewise minimum, and, or", "%z = minimum(%x, %x) : f32[8] return f32[8] %z",
     "return f32[8] %x"},
    {"and(x, true) → x",
     "%c = constant() {value = bool[] true} : bool[] %z = logical_and(%c, %p) : bool[8] return bool[8] %z",
     "return bool[8] %p"},
    {"or(x, false) → x",
     "%c = constant() {value = bool[] false} : bool[] %z = logical_or(%p, %c) : bool[8] return bool[8] %z",
     "return bool[8] %p"},
    {"not(x = y) → x ≠ y and back",
     "%a = equal(%x, %y) : bool[8] %z = logical_not(%a) : bool[8] return bool[8] %z",
     "%z = not_equal(%x, %y) : bool[8] return bool[8] %z"},
    {"not(x = y) → x ≠ y and back",
     "%a = less(%x, %y) : bool[8] %z = logical_not(%a) : bool[8] return bool[8] %z", ""},
    {"select(constant, a, b) → a or b",
     "%c = constant() {value = bool[8] false} : bool[8] %z = select(%c, %x, %y) : f32[8] return f32[8] %z",
     "return f32[8] %y"},
    {"select(constant, a, b) → a or b",
     "%c = constant() {value = bool[] true} : bool[] %s = constant() {value = f32[] 5} : f32[] "
     "%z = select(%c, %s, %x) : f32[8] return f32[8] %z",
     "%s = constant() {value = f32[] 5} : f32[] %z = broadcast(%s) {shape = [8]} : f32[8] return f32[8] %z"},
    {"select(constant, a, b) → a or b",
     "%c = constant() {value = bool[2] [true, false]} : bool[2] %d = broadcast(%c) {shape = [4, 2]} : "
     "bool[4, 2] "
     "%e = reshape(%d) {shape = [8]} : bool[8] %z = select(%e, %x, %y) : f32[8] return f32[8] %z",
     ""},
    {"select(c, a, a) → a", "%z = select(%p, %x, %x) : f32[8] return f32[8] %z", "return f32[8] %x"},
    {"select(not(c), a, b) → select(c, b, a)",
     "%q = logical_not(%p) : bool[8] %z = select(%q, %x, %y) : f32[8] return f32[8] %z",
     "%z = select(%p, %y, %x) : f32[8] return f32[8] %z"},
    {"cast(x) to its own dtype → x", "%z = cast(%x) : f32[8] return f32[8] %z", "return f32[8] %x"},
    {"cast(cast(x)) back → x", "%a = cast(%h) : f32[8] %z = cast(%a) {dtype = f16} : f16[8] return f16[8] %z",
     "return f16[8] %h"},
    {"cast(cast(x)) back → x",
     "%a = cast(%p) : f32[8] %z = cast(%a) {dtype = bool} : bool[8] return bool[8] %z", "return bool[8] %p"},
    {"cast(cast(x)) back → x", "%a = cast(%i) : f32[8] %z = cast(%a) {dtype = i32} : i32[8] return i32[8] %z",
     ""},
    {"cast(cast(x)) back → x", "%a = cast(%x) {dtype = f16} : f16[8] %z = cast(%a) : f32[8] return f32[8] %z",
     ""},
    {"cast(cast(x)) through a wider float → cast(x)",
     "%a = cast(%x) {dtype = f64} : f64[8] %z = cast(%a) {dtype = bf16} : bf16[8] return bf16[8] %z",
     "%z = cast(%x) {dtype = bf16} : bf16[8] return bf16[8] %z"},
    {"reshape or broadcast to the same shape → x", "%z = reshape(%x) {shape = [8]} : f32[8] return f32[8] %z",
     "return f32[8] %x"},
    {"transpose by the identity → x", "%z = transpose(%m) {order = [0, 1]} : f32[2, 4] return f32[2, 4] %z",
     "return f32[2, 4] %m"},
    {"transpose(transpose(x)) → transpose(x)",
     "%a = reshape(%m) {shape = [2, 2, 2]} : f32[2, 2, 2] %b = transpose(%a) {order = [1, 2, 0]} : f32[2, 2, "
     "2] "
     "%z = transpose(%b) {order = [0, 2, 1]} : f32[2, 2, 2] return f32[2, 2, 2] %z",
     "%a = reshape(%m) {shape = [2, 2, 2]} : f32[2, 2, 2] %z = transpose(%a) {order = [1, 0, 2]} : f32[2, 2, "
     "2] "
     "return f32[2, 2, 2] %z"},
    {"transpose(transpose(x)) → transpose(x)",
     "%b = transpose(%m) {order = [1, 0]} : f32[4, 2] %z = transpose(%b) {order = [1, 0]} : f32[2, 4] return "
     "f32[2, 4] %z",
     "return f32[2, 4] %m"},
    {"reshape(reshape(x)) → reshape(x), likewise broadcast",
     "%b = reshape(%m) {shape = [8]} : f32[8] %z = reshape(%b) {shape = [4, 2]} : f32[4, 2] return f32[4, 2] "
     "%z",
     "%z = reshape(%m) {shape = [4, 2]} : f32[4, 2] return f32[4, 2] %z"},
    {"reshape(reshape(x)) → reshape(x), likewise broadcast",
     "%b = broadcast(%x) {shape = [1, 8]} : f32[1, 8] %z = broadcast(%b) {shape = [2, 3, 8]} : f32[2, 3, 8] "
     "return f32[2, 3, 8] %z",
     "%z = broadcast(%x) {shape = [2, 3, 8]} : f32[2, 3, 8] return f32[2, 3, 8] %z"},
    {"slice of everything → x",
     "%z = slice(%x) {start = [0], limit = [8], step = [1]} : f32[8] return f32[8] %z", "return f32[8] %x"},
    {"slice(slice(x)) → slice(x)",
     "%a = slice(%x) {start = [1], limit = [8], step = [2]} : f32[4] "
     "%z = slice(%a) {start = [1], limit = [4], step = [2]} : f32[2] return f32[2] %z",
     "%z = slice(%x) {start = [3], limit = [8], step = [4]} : f32[2] return f32[2] %z"},
    {"slice(slice(x)) → slice(x)",
     "%a = slice(%x) {start = [1], limit = [8], step = [2]} : f32[4] "
     "%z = slice(%a) {start = [4], limit = [4], step = [3]} : f32[0] return f32[0] %z",
     "%z = slice(%x) {start = [0], limit = [0], step = [1]} : f32[0] return f32[0] %z"},
    {"pad by nothing → x",
     "%c = constant() {value = f32[] 0} : f32[] %z = pad(%x, %c) {low = [0], high = [0], interior = [0]} : "
     "f32[8] return f32[8] %z",
     "return f32[8] %x"},
    {"pad by nothing → x",
     "%c = constant() {value = f32[] 0} : f32[] %z = pad(%x, %c) {low = [-1], high = [1], interior = [0]} : "
     "f32[8] return f32[8] %z",
     ""},
    {"concat or split of one part → x", "%z = concat(%x) : f32[8] return f32[8] %z", "return f32[8] %x"},
    {"concat or split of one part → x", "%z = split(%x) {sizes = [8]} : f32[8] return f32[8] %z",
     "return f32[8] %x"},
    {"flip of axes of size 1 → x",
     "%a = reshape(%x) {shape = [1, 8]} : f32[1, 8] %z = flip(%a) {axes = [0]} : f32[1, 8] return f32[1, 8] "
     "%z",
     "%a = reshape(%x) {shape = [1, 8]} : f32[1, 8] return f32[1, 8] %a"},
    {"stop_gradient(x) → x, likewise residual", "%z = stop_gradient(%x) : f32[8] return f32[8] %z",
     "return f32[8] %x"},
    {"stop_gradient(x) → x, likewise residual", "%z = residual(%x) : f32[8] return f32[8] %z",
     "return f32[8] %x"},
    {"flip(flip(x)) → x",
     "%a = flip(%m) {axes = [0, 1]} : f32[2, 4] %z = flip(%a) {axes = [0, 1]} : f32[2, 4] return f32[2, 4] "
     "%z",
     "return f32[2, 4] %m"},
    {"flip(flip(x)) → x",
     "%a = flip(%m) {axes = [0]} : f32[2, 4] %z = flip(%a) {axes = [1]} : f32[2, 4] return f32[2, 4] %z", ""},
    {"reduce_max over one element → x, likewise min, prod", "%z = reduce_max(%x) : f32[8] return f32[8] %z",
     "return f32[8] %x"},
    {"reduce_max over one element → x, likewise min, prod",
     "%a = reshape(%x) {shape = [8, 1]} : f32[8, 1] %z = reduce_prod(%a) {axes = [1]} : f32[8] return f32[8] "
     "%z",
     "return f32[8] %x"},
    {"reduce_max over one element → x, likewise min, prod", "%z = reduce_sum(%x) : f32[8] return f32[8] %z",
     ""},
    {"f(x, broadcast(y)) → f(x, y)",
     "%a = slice(%x) {start = [0], limit = [1], step = [1]} : f32[1] %b = broadcast(%a) {shape = [8]} : "
     "f32[8] "
     "%z = pow(%b, %y) : f32[8] return f32[8] %z",
     "%a = slice(%x) {start = [0], limit = [1], step = [1]} : f32[1] %z = pow(%a, %y) : f32[8] return f32[8] "
     "%z"},
    {"f(broadcast(x)) → broadcast(f(x))",
     "%b = broadcast(%x) {shape = [2, 8]} : f32[2, 8] %z = exp(%b) : f32[2, 8] return f32[2, 8] %z",
     "%1 = exp(%x) : f32[8] %z = broadcast(%1) {shape = [2, 8]} : f32[2, 8] return f32[2, 8] %z"},
};

Graph simplified(const Graph& graph) {
  const Graph result = dce(simplify(graph, known_ops(find_op)));
  verify(result);
  return result;
}

constexpr float inf = std::numeric_limits<float>::infinity();
std::vector<Literal> inputs() {
  const std::vector<float> x = {0.0f, -0.0f, inf, -inf, std::nanf(""), 1e-45f, -3.25f, 3e38f};
  const std::vector<float> y = {-0.0f, -0.0f, 2.0f, -inf, 1.0f, -1e-45f, 7.5f, 3e38f};
  std::vector<Float16> h;
  for (float v : {0.0f, -0.0f, inf, -inf, 65504.0f, 6e-8f, -3.25f, 1.0f / 3}) h.push_back(Float16(v));
  return {literal_of<float>({8}, x),
          literal_of<float>({8}, y),
          literal_of<std::int32_t>({8}, {0, 1, -1, 7, INT32_MIN, INT32_MAX, -100, 16777217}),
          literal_of<bool>({8}, {true, false, true, true, false, false, true, false}),
          literal_of<Float16>({8}, h),
          literal_of<float>({2, 4}, x)};
}

TEST(Simplify, EachRuleDoesWhatItSaysAndNoMore) {
  for (const Case& c : cases) {
    const Graph before = graph_from(around(c.before));
    const Graph wanted = *c.after ? graph_from(around(c.after)) : before;
    const Graph after = simplified(before);
    EXPECT_TRUE(same_graph(after, wanted, {.names = false})) << c.rule << "\n"
                                                             << print(before) << print(after);
  }
}

TEST(Simplify, EachRuleKeepsEveryBit) {
  ThreadPool pool(1);
  const std::vector<Literal> data = inputs();
  for (const Case& c : cases) {
    const Graph before = graph_from(around(c.before)), after = simplified(before);
    EXPECT_EQ(bit_difference(interpret(before, data, pool), interpret(after, data, pool), NaNs::alike), "")
        << c.rule << "\n"
        << print(before);
  }
}

TEST(Simplify, EveryRuleHasACase) {
  std::set<std::string_view> tried;
  for (const Case& c : cases) tried.insert(c.rule);
  for (const RuleText& rule : simplify_rules()) {
    EXPECT_TRUE(tried.contains(rule.name)) << rule.name;
    EXPECT_FALSE(rule.why.empty());
    tried.erase(rule.name);
  }
  EXPECT_TRUE(tried.empty()) << "no such rule: " << *tried.begin();
}

TEST(Simplify, KeepsNamesLinesAndInputs) {
  const Graph graph = graph_from(R"(graph @g(%x: f32[2] donated, %unused: i32[]) -> (f32[2]) {
    %1 = exp(%x) : f32[2]  @ "a.cc":3
    %one = constant() {value = f32[] 1.0} : f32[]
    %h = mul(%1, %one) : f32[2]  @ "a.cc":4
    return %h
  })");
  EXPECT_EQ(print(simplified(graph)), normal(R"(graph @g(%x: f32[2] donated, %unused: i32[]) -> (f32[2]) {
    %h = exp(%x) : f32[2]  @ "a.cc":3
    return %h
  })"));
}

TEST(Simplify, ReshapesThatBecomeOneKeepTheNameOfTheFirst) {
  const Graph graph = graph_from(R"(graph(%x: f32[6]) -> (f32[3,2]) {
    %g = reshape(%x) {shape = [2, 3]} : f32[2,3]
    %1 = reshape(%g) {shape = [3, 2]} : f32[3,2]
    return %1
  })");
  const Graph after = simplified(graph);
  EXPECT_EQ(after[after.outputs()[0]].name, "g");
}

TEST(Simplify, WorksInsideRegions) {
  const Graph graph = graph_from(R"(graph(%x: f32[]) -> (f32[]) {
    %y = toy_loop(%x) [graph(%i: f32[]) -> (f32[]) { %a = neg(%i) : f32[] %b = neg(%a) : f32[] return %b }] : f32[]
    return %y
  })");
  EXPECT_TRUE(simplified(graph).nodes()[0].regions[0].nodes().empty());
}

TEST(Simplify, WithoutKnownOpsNothingChanges) {
  for (const Case& c : cases) {
    const Graph graph = graph_from(around(c.before));
    EXPECT_TRUE(same_graph(simplify(graph, KnownOps{}), graph)) << c.rule;
  }
}

}  // namespace
}  // namespace tidemark
