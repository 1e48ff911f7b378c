// Makes a program that fails smaller while it fails in the same way: first steps of the function are left
// out, then nodes and outputs of the graph. Each try runs in a process of its own.
#pragma once
#include "tests/programs/apart.h"

namespace tidemark::testing {

// Which failures are one: the words without numbers.
std::string kind_of(const std::string& what);

struct Smaller {
  std::set<int> left_out;  // steps of the function
  Finding finding;
  GraphCase program;  // no inputs: it fails before there is a graph
};

// `first`: how it failed.
Smaller shrink(std::uint64_t seed, const Thoroughness& thoroughness, const Finding& first, Patience patience);

}  // namespace tidemark::testing
