// Graphs of the golden tests that are traced from C++, and their text in graphs/NAME.ir. The hashes of plans
// are taken of the files, so that they say what the planner does with a given graph; that tracing gives the
// graphs of the files, with every compiler and on every machine, is a test of its own.
#pragma once
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/tiny_models.h"
#include "tidemark/ir/parse.h"
#include "tidemark/ir/print.h"
#include "tidemark/ops/registry.h"

namespace tidemark::golden {

inline bool updating() { return std::getenv("TIDEMARK_UPDATE_GOLDEN") != nullptr; }

inline std::string read(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Traced {
  std::string name;
  Graph graph;
};

inline std::vector<Traced> traced_models() {
  std::vector<Traced> list;
  for (tiny::TinyModel& model : tiny::all()) list.push_back({model.name, std::move(model.step)});
  return list;
}

inline std::vector<Traced> traced_loops() {
  const Tensor w = full({16, 16}, 0.1f), x = full({4, 16}, 0.5f);
  const auto repeated = [](Tensor v, Tensor u) {
    return sum(repeat(
        20, [&](Tensor y) { return tanh(matmul(y, v)) + y; }, u));
  };
  const auto unknown = [](Tensor v, Tensor u) {
    return sum(while_loop([](Tensor y) { return sum(y * y) > 0.01; },
                          [&](Tensor y) { return tanh(matmul(y, v)) * 0.9; }, u, {.max_steps = 50}));
  };
  const auto graph_of = [&](const auto& f) { return *trace_call(f, std::tuple(w, x), {}).graph; };
  std::vector<Traced> list;
  list.push_back({"repeat", graph_of(grad<0, 1>(repeated))});
  list.push_back({"while", graph_of(grad<0, 1>(unknown))});
  return list;
}

// Without what plans do not depend on: the names of values, and the lines of C++ that nodes come from.
inline std::string bare_text(Graph graph) {
  for (std::size_t v = 0; v < graph.values().size(); ++v) graph[ValueId(v)].name.clear();
  std::istringstream lines(print(graph));
  std::string text;
  for (std::string line; std::getline(lines, line);) text += line.substr(0, line.rfind("  @ \"")) + '\n';
  return text;
}

inline std::string path_of(const std::string& name) {
  return std::string(TIDEMARK_TEST_DIR) + "/graphs/" + name + ".ir";
}
inline Graph graph_in_file(const std::string& name) {
  return parse(read(path_of(name)), {.find = &find_op}, name + ".ir");
}

}  // namespace tidemark::golden
