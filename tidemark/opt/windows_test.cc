#include "tidemark/opt/windows.h"

#include <gtest/gtest.h>

#include "tests/support/graph_text.h"
#include "tidemark/ir/compare.h"
#include "tidemark/ir/verify.h"
#include "tidemark/ops/registry.h"
#include "tidemark/opt/dce.h"

namespace tidemark {
namespace {

Graph with_windows(const std::string& text) {
  const Graph graph = dce(read_windows(graph_from(text), known_ops(find_op)));
  verify(graph);
  return graph;
}

TEST(Windows, APartOfAPaddedArrayIsPaddedByLess) {
  EXPECT_EQ(print(with_windows(R"(graph(%x: f32[5, 6]) -> (f32[5, 6]) {
    %zero = constant() {value = f32[] 0.0} : f32[]
    %p = pad(%x, %zero) {low = [2, 2], high = [2, 2], interior = [0, 0]} : f32[9, 10]
    %a = slice(%p) {start = [2, 1], limit = [7, 7], step = [1, 1]} : f32[5, 6]
    %b = slice(%p) {start = [4, 2], limit = [9, 8], step = [1, 1]} : f32[5, 6]
    %c = add(%a, %b) : f32[5, 6]
    return %c
  })")),
            normal(R"(graph(%x: f32[5, 6]) -> (f32[5, 6]) {
    %zero = constant() {value = f32[] 0.0} : f32[]
    %a = pad(%x, %zero) {low = [0, 1], high = [0, -1], interior = [0, 0]} : f32[5, 6]
    %b = pad(%x, %zero) {low = [-2, 0], high = [2, 0], interior = [0, 0]} : f32[5, 6]
    %c = add(%a, %b) : f32[5, 6]
    return %c
  })"));
}

TEST(Windows, APartOfASumOfPaddedArraysIsASumOfWindows) {
  EXPECT_EQ(print(with_windows(R"(graph(%x: f32[4], %y: f32[2]) -> (f32[4]) {
    %zero = constant() {value = f32[] 0.0} : f32[]
    %p = pad(%x, %zero) {low = [2], high = [0], interior = [0]} : f32[6]
    %q = pad(%y, %zero) {low = [1], high = [1], interior = [2]} : f32[6]
    %s = add(%p, %q) : f32[6]
    %t = mul(%s, %zero) : f32[6]
    %c = pad(%t, %zero) {low = [-1], high = [-1], interior = [0]} : f32[4]
    %d = neg(%c) : f32[4]
    return %d
  })")),
            normal(R"(graph(%x: f32[4], %y: f32[2]) -> (f32[4]) {
    %zero = constant() {value = f32[] 0.0} : f32[]
    %3 = pad(%x, %zero) {low = [1], high = [-1], interior = [0]} : f32[4]
    %4 = pad(%y, %zero) {low = [0], high = [0], interior = [2]} : f32[4]
    %5 = add(%3, %4) : f32[4]
    %c = mul(%5, %zero) : f32[4]
    %d = neg(%c) : f32[4]
    return %d
  })"));
}

TEST(Windows, WhatIsReadAsAWholeStaysInMemory) {
  for (const char* text : {// a product reads it
                           R"(graph(%x: f32[5], %w: f32[5, 3]) -> (f32[3]) {
    %zero = constant() {value = f32[] 0.0} : f32[]
    %p = pad(%x, %zero) {low = [2], high = [2], interior = [0]} : f32[9]
    %a = slice(%p) {start = [1], limit = [6], step = [1]} : f32[5]
    %c = contract(%a, %w) {lhs_batch = [], rhs_batch = [], lhs_contract = [0], rhs_contract = [0]} : f32[3]
    return %c
  })",
                           // not all of the sum was padded
                           R"(graph(%x: f32[5], %y: f32[9]) -> (f32[5]) {
    %zero = constant() {value = f32[] 0.0} : f32[]
    %p = pad(%x, %zero) {low = [2], high = [2], interior = [0]} : f32[9]
    %s = add(%p, %y) : f32[9]
    %a = slice(%s) {start = [1], limit = [6], step = [1]} : f32[5]
    %c = neg(%a) : f32[5]
    return %c
  })",
                           // steps
                           R"(graph(%x: f32[5]) -> (f32[3]) {
    %zero = constant() {value = f32[] 0.0} : f32[]
    %p = pad(%x, %zero) {low = [2], high = [2], interior = [0]} : f32[9]
    %a = slice(%p) {start = [1], limit = [6], step = [2]} : f32[3]
    %c = neg(%a) : f32[3]
    return %c
  })"}) {
    const Graph graph = graph_from(text);
    EXPECT_TRUE(same_graph(with_windows(text), graph)) << print(with_windows(text));
  }
}

}  // namespace
}  // namespace tidemark
