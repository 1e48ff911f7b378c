#include "tidemark/solve/dag/dag.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>
#include <string>
#include <utility>

#include "tidemark/base/error.h"

namespace tidemark {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Nodes a, b, c, … of cost 1 and 8 bytes, one per line, then the edges on one line.
std::string graph_text(int nodes, const std::string& edges) {
  std::string text = "{\"nodes\": [\n";
  for (int i = 0; i < nodes; ++i) {
    text += std::string(i == 0 ? "" : ",\n") + R"({"name": ")" + static_cast<char>('a' + i) +
            R"(", "cost": 1, "bytes": 8, "backward": false})";
  }
  return text + "],\n\"edges\": [" + edges + "]}";
}

std::string error_of(const std::string& text) {
  try {
    dag_from_json(text, "some/where/g.dag.json");
  } catch (const Error& error) {
    EXPECT_TRUE(error.where().known()) << error.what();
    return error.what();
  }
  return "no error";
}

std::string error_of_node(const std::string& fields) {
  return error_of("{\"nodes\": [{\"name\": \"in\", \"cost\": 0, \"bytes\": 1},\n{" + fields +
                  "}], \"edges\": []}");
}

TEST(Dag, ReadsNodesAndEdges) {
  const Dag dag = dag_from_json(R"({"nodes": [
    {"name": "x", "cost": 0, "bytes": 7, "backward": false},
    {"name": "ü", "cost": 2.5, "bytes": 1e3, "backward": true},
    {"bytes": 0, "cost": 1e20, "name": ""}],
    "edges": [[1, 2], [0, 2], [0, 1]]})",
                                "g");
  EXPECT_THAT(dag.names, ElementsAre("x", "ü", ""));
  EXPECT_THAT(dag.cost, ElementsAre(0, 2.5, 1e20));
  EXPECT_THAT(dag.bytes, ElementsAre(7, 1000, 0));
  EXPECT_THAT(dag.backward, ElementsAre(false, true, false));
  EXPECT_THAT(dag.edges, ElementsAre(DagEdge{0, 1}, DagEdge{0, 2}, DagEdge{1, 2}));
}

TEST(Dag, TakesEdgesBeforeNodesAndOverlooksOtherFields) {
  const Dag dag = dag_from_json(
      R"({"edges": [[0, 1]], "made by": {"nodes": [[{}]], "x": null}, "nodes":
         [{"name": "a", "notes": ["cost", {"cost": -1}], "cost": 1, "bytes": 2}, {"name": "a", "cost": 1, "bytes": 2}]})",
      "g");
  EXPECT_EQ(dag.size(), 2);
  EXPECT_THAT(dag.edges, ElementsAre(DagEdge{0, 1}));
}

TEST(Dag, MergesEdgesThatAreThereTwice) {
  EXPECT_THAT(dag_from_json(graph_text(2, "[0, 1], [0, 1]"), "g").edges, ElementsAre(DagEdge{0, 1}));
}

TEST(Dag, WritesWhatItReads) {
  const Dag dag = dag_from_json(graph_text(4, "[0, 1], [1, 2], [0, 3]"), "g");
  const Dag back = dag_from_json(to_json(dag), "back");
  EXPECT_EQ(back.names, dag.names);
  EXPECT_EQ(back.cost, dag.cost);
  EXPECT_EQ(back.bytes, dag.bytes);
  EXPECT_EQ(back.backward, dag.backward);
  EXPECT_EQ(back.edges, dag.edges);
}

TEST(Dag, ErrorsNameTheEdgeAndItsLine) {
  EXPECT_THAT(error_of(graph_text(3, "[0, 1],\n[1, 3]")),
              AllOf(HasSubstr("TM0504"), HasSubstr("edge 1 [1, 3]"),
                    HasSubstr("node 3, which does not exist"), HasSubstr("g.dag.json:6")));
  EXPECT_THAT(error_of(graph_text(3, "[-1, 2]")), HasSubstr("node -1, which does not exist"));
  EXPECT_THAT(error_of(graph_text(3, "[0, 1], [1, 1]")),
              HasSubstr("edge 1 [1, 1] leads from node 1 `b` to itself"));
  EXPECT_THAT(error_of(graph_text(3, "[0, 1], [2, 1]")),
              AllOf(HasSubstr("edge 1 [2, 1] goes backwards: node 2 `c` stands after node 1 `b`")));
  EXPECT_THAT(error_of(graph_text(3, "[0]")), HasSubstr("edge 0 has 1 of 2 entries"));
  EXPECT_THAT(error_of(graph_text(3, "[0, 1, 2]")), HasSubstr("edge 0 has more than 2 entries"));
  EXPECT_THAT(error_of(graph_text(3, "[0, \"b\"]")), HasSubstr("edge 0 holds a text"));
  EXPECT_THAT(error_of(graph_text(3, "[0, 1.5]")), HasSubstr("1.5, which is no index"));
  EXPECT_THAT(error_of(graph_text(3, "[0, 99999999999999999999]")), HasSubstr("which is no index"));
  EXPECT_THAT(error_of(graph_text(3, "[0, [1]]")), HasSubstr("edge 0 holds a list"));
  EXPECT_THAT(error_of(graph_text(3, "0, 1")), HasSubstr("edge 0 is a number, not a list"));
}

TEST(Dag, CyclesAreToldByName) {
  EXPECT_THAT(
      error_of(graph_text(5, "[0, 1], [1, 2], [2, 3], [3, 1], [3, 4]")),
      AllOf(HasSubstr("TM0504"),
            HasSubstr("edge 3 [3, 1] closes a cycle: node 1 `b` → node 2 `c` → node 3 `d` → node 1 `b`")));
  EXPECT_THAT(error_of(graph_text(2, "[1, 0], [0, 1]")), HasSubstr("node 0 `a` → node 1 `b` → node 0 `a`"));
  std::string edges = "[19, 0]";
  for (int i = 1; i < 20; ++i) edges += ", [" + std::to_string(i - 1) + ", " + std::to_string(i) + "]";
  EXPECT_THAT(error_of(graph_text(20, edges)), HasSubstr("→ 12 more → node 0 `a`"));
}

TEST(Dag, ErrorsNameTheNodeAndItsLine) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("name": "x", "cost": 1, "bytes": -5)", "node 1 `x`: `bytes` is negative: -5"},
      {R"("name": "x", "cost": 1, "bytes": 1.5)", "node 1 `x`: `bytes` is not a whole number: 1.5"},
      {R"("name": "x", "cost": 1, "bytes": 9223372036854775808)",
       "`bytes` is too large: 9223372036854775808"},
      {R"("name": "x", "cost": 1, "bytes": 99999999999999999999)",
       "`bytes` is too large: 99999999999999999999"},
      {R"("name": "x", "cost": 1, "bytes": 1e300)", "`bytes` is too large"},
      {R"("name": "x", "cost": 1, "bytes": 2305843009213693952)", "all values together overflow"},
      {R"("name": "x", "cost": 1, "bytes": "8")", "`bytes` is a text"},
      {R"("name": "x", "cost": -0.5, "bytes": 1)", "node 1 `x`: `cost` is negative: -0.5"},
      {R"("name": "x", "cost": 1e301, "bytes": 1)", "all costs together overflow"},
      {R"("name": "x", "cost": null, "bytes": 1)", "`cost` is null"},
      {R"("name": "x", "cost": [1], "bytes": 1)", "`cost` is a list"},
      {R"("name": "x", "cost": {"s": 1}, "bytes": 1)", "`cost` is an object"},
      {R"("name": 3, "cost": 1, "bytes": 1)", "node 1: `name` is a number"},
      {R"("name": "x", "cost": 1, "bytes": 1, "backward": 0)", "`backward` is a number"},
      {R"("cost": 1, "bytes": 1)", "node 1: the field `name` is missing"},
      {R"("name": "x", "bytes": 1)", "node 1 `x`: the field `cost` is missing"},
      {R"("name": "x", "cost": 1)", "node 1 `x`: the field `bytes` is missing"},
      {R"("name": "x", "cost": 1, "bytes": 1, "cost": 2)", "the field `cost` is there twice"},
  };
  for (const auto& [fields, complaint] : cases) {
    EXPECT_THAT(error_of_node(fields),
                AllOf(HasSubstr(complaint), HasSubstr("TM0503"), HasSubstr("g.dag.json:2")));
  }
}

TEST(Dag, NamesInErrorsAreShortAndPrintable) {
  const std::string error =
      error_of_node(R"("name": "a\u001b[2J)" + std::string(500, 'x') + R"(", "cost": -1, "bytes": 1)");
  EXPECT_THAT(error, HasSubstr("`a?[2Jxxx"));
  EXPECT_LT(error.size(), 400u);
}

TEST(Dag, TextThatIsNoGraphIsRefused) {
  EXPECT_THAT(error_of(""), HasSubstr("the file is empty"));
  EXPECT_THAT(error_of(" \n\t"), HasSubstr("the file is empty"));
  EXPECT_THAT(error_of("[]"), HasSubstr("the file holds a list, not a graph"));
  EXPECT_THAT(error_of("3"), HasSubstr("the file holds a number"));
  EXPECT_THAT(error_of("{}"), HasSubstr("the list `nodes` is missing"));
  EXPECT_THAT(error_of(R"({"nodes": []})"), HasSubstr("the list `edges` is missing"));
  EXPECT_THAT(error_of(R"({"nodes": [], "edges": []})"), HasSubstr("the graph has no nodes"));
  EXPECT_THAT(error_of(R"({"nodes": {}, "edges": []})"), HasSubstr("`nodes` is an object, not a list"));
  EXPECT_THAT(error_of(R"({"nodes": [1], "edges": []})"), HasSubstr("node 0 is a number, not an object"));
  EXPECT_THAT(error_of(R"({"nodes": [], "nodes": [], "edges": []})"), HasSubstr("`nodes` is there twice"));
}

TEST(Dag, TextThatIsNoJsonIsToldByLineAndColumn) {
  EXPECT_THAT(error_of("{\"nodes\": [\n  nope\n]}"),
              AllOf(HasSubstr("TM0501"), HasSubstr("not JSON: line 2, column 4"), HasSubstr("g.dag.json:2")));
  const std::string whole = graph_text(3, "[0, 1]");
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    EXPECT_THAT(error_of(whole.substr(0, cut)), HasSubstr("error[TM050")) << cut;
  }
  EXPECT_THAT(error_of(whole + "x"), HasSubstr("not JSON"));
  EXPECT_THAT(error_of_node(R"("name": "x", "cost": NaN, "bytes": 1)"), HasSubstr("not JSON"));
  EXPECT_THAT(error_of_node(R"("name": "x", "cost": Infinity, "bytes": 1)"), HasSubstr("not JSON"));
  EXPECT_THAT(error_of_node(R"("name": "x", "cost": 1e999, "bytes": 1)"),
              HasSubstr("not JSON: number overflow"));
  EXPECT_THAT(error_of_node("\"name\": \"\xff\xfe\", \"cost\": 1, \"bytes\": 1"), HasSubstr("UTF-8"));
  EXPECT_THAT(error_of(std::string(1, '\0')), HasSubstr("not JSON"));
}

TEST(Dag, DeepNestingNeedsNoStack) {
  const std::string deep = std::string(2'000'000, '[') + std::string(2'000'000, ']');
  EXPECT_THAT(error_of(deep), HasSubstr("the file holds a list"));
  std::string aside = graph_text(1, "");
  aside.pop_back();
  EXPECT_EQ(dag_from_json(aside + ", \"notes\": " + deep + "}", "g").size(), 1);
  EXPECT_THAT(error_of(aside + ", \"notes\": " + deep), HasSubstr("not JSON"));
}

TEST(Dag, FilesThatCannotBeReadAreErrors) {
  EXPECT_THROW(read_dag("/no/such/file.dag.json"), Error);
  EXPECT_THROW(read_dag(std::filesystem::temp_directory_path().string()), Error);
}

TEST(Dag, TheProblemCountsInputsAndResultTogether) {
  // a (8) feeds b and d, b feeds c; c and d have no user.
  Dag dag = dag_from_json(graph_text(4, "[0, 1], [1, 2], [0, 3]"), "g");
  dag.bytes = {1, 10, 100, 1000};
  dag.cost = {1, 2, 4, 8};
  const RematProblem problem = problem_of(dag);
  EXPECT_EQ(problem.base_cost(), 15);
  const Sequence base = {0, 1, 2, 3};
  EXPECT_TRUE(is_valid_sequence(problem, base));
  EXPECT_EQ(figures_of(problem, base).peak, 1001) << "a and d; c was released at once";
  EXPECT_EQ(figures_of(problem, Sequence{0, 3, 1, 2}).peak, 1001);
  const Sequence again = {0, 1, 2, 0, 3};
  EXPECT_TRUE(is_valid_sequence(problem, again));
  EXPECT_EQ(figures_of(problem, again).cost, 16);
  EXPECT_FALSE(is_valid_sequence(problem, Sequence{1, 0, 2, 3}));
}

TEST(Dag, TheInstancesHaveTheirKnownPeaks) {
  for (const auto& [name, nodes, peak] :
       {std::tuple("layered100", 100, 46'319), {"layered250", 250, 146'840}}) {
    const std::string path = std::string(TIDEMARK_SHARED_DATA) + "/graphs/" + name + ".dag.json";
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "no instance at " << path;
    const Dag dag = read_dag(path);
    EXPECT_EQ(dag.size(), nodes);
    Sequence base(static_cast<std::size_t>(nodes));
    std::iota(base.begin(), base.end(), 0);
    EXPECT_EQ(figures_of(problem_of(dag), base).peak, peak);
  }
}

}  // namespace
}  // namespace tidemark
