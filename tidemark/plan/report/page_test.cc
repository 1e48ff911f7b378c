#include "tidemark/plan/report/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "tests/support/model_graphs.h"
#include "tests/support/test_target.h"
#include "tidemark/plan/machine.h"
#include "tidemark/plan/passes/pipeline.h"
#include "tidemark/plan/report/page_regions.h"
#include "tidemark/plan/report/peak_split.h"
#include "tidemark/plan/report/plan_figures.h"
#include "tidemark/plan/report/plan_json.h"

namespace tidemark {
namespace {

using nlohmann::json;

PageContent content_of(const Graph& graph, const Plan& plan) {
  return {
      .title = "page", .plans = {{graph, plan}}, .target = &test_target(), .machine = &reference_machine()};
}

// What a browser finds in the page's element of data.
json data_in(const std::string& html) {
  const std::string mark = R"(<script type="application/json" id="data">)";
  const std::size_t begin = html.find(mark) + mark.size();
  return json::parse(html.substr(begin, html.find("</script>", begin) - begin));
}

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// A column, whose numbers may be one.
std::vector<std::int64_t> numbers(const json& column, std::size_t count) {
  if (column.is_number()) return std::vector<std::int64_t>(count, column.get<std::int64_t>());
  return column.get<std::vector<std::int64_t>>();
}

TEST(Page, NeedsNothingElse) {
  const Graph graph = models::mlp(2, 8, 16);
  const std::string html = page_html(content_of(graph, make_plan(graph, test_target())));
  EXPECT_TRUE(html.starts_with("<!doctype html>"));
  for (const char* link : {"http://", "https://", "src=", "<link", "@import", "import("}) {
    const std::size_t at = html.find(link);
    if (at == std::string::npos) continue;
    EXPECT_EQ(html.substr(at, 26), "http://www.w3.org/2000/svg") << "of " << link;  // a name, not an address
  }
}

TEST(Page, TextsOfTheUserAreDataAndNothingElse) {
  Graph graph = models::mlp(2, 8, 16);
  const std::string names[] = {"</script><script>alert(1)</script>", "<!--", "\xe2\x80\xa8 \" \\ ' \n",
                               "\xff\xfe no text", "&lt;b&gt;"};
  for (std::size_t i = 0; i < std::size(names); ++i)
    graph[ValueId(static_cast<std::uint32_t>(i))].name = names[i];
  const Plan plan = make_plan(graph, test_target());
  PageContent content = content_of(graph, plan);
  const std::string plain = page_html(content);
  content.title = content.notes.emplace_back("</script><img src=x onerror=alert(1)>");
  const std::string html = page_html(content);
  EXPECT_EQ(count_of(html, "</script"), 2u) << "that of the data, and that of the scripts";
  EXPECT_EQ(count_of(html, "<img"), 0u);
  EXPECT_EQ(count_of(html, "\xe2\x80\xa8"), count_of(plain, "\xe2\x80\xa8"));
  const json data = data_in(html);
  EXPECT_EQ(data["title"], content.title);
  const auto name = [&](std::size_t value) {
    const std::vector<std::int64_t> of = numbers(data["graphs"][0]["values"]["name"], graph.values().size());
    return data["texts"][static_cast<std::size_t>(of[value])].get<std::string>();
  };
  for (const std::size_t i : {0u, 1u, 2u, 4u}) EXPECT_EQ(name(i), names[i]);
  EXPECT_EQ(name(3), "\xef\xbf\xbd\xef\xbf\xbd no text");
}

TEST(Page, SaysWhatThePlanAndItsFiguresSay) {
  const Graph graph = models::transformer(2, 4, 64, 64, 2);
  const Plan free = make_plan(graph, test_target());
  const Plan plan = make_plan(graph, test_target(), {.memory = free.peak() * 9 / 10});
  const json data = data_in(page_html(content_of(graph, plan)));
  const json& page = data["plans"][0];
  EXPECT_EQ(page["figures"], json::parse(plan_figures(graph, plan).dump()));
  EXPECT_EQ(page["figures"]["peak"], plan.peak());
  EXPECT_EQ(page["figures"]["plan_hash"], json::parse(to_json(plan))["plan_hash"]);
  EXPECT_EQ(page["verdict"], verdict(graph, plan));
  EXPECT_THAT(summary(graph, plan), testing::HasSubstr(to_string(Bytes(plan.peak()))));
  EXPECT_THAT(verdict(graph, plan), testing::HasSubstr(to_string(Bytes(plan.peak()))));
  EXPECT_EQ(page["peak_step"], peak_step(plan));
  EXPECT_EQ(page["backward_begin"], backward_begin(graph, plan));
  EXPECT_NEAR(page["makespan"].get<double>(), plan.seconds, 1e-9 * plan.seconds)
      << "the lanes end when the plan says";
  const std::size_t count = plan.buffers.size();
  const json& buffers = page["buffers"];
  const auto bytes = numbers(buffers["bytes"], count), offset = numbers(buffers["offset"], count),
             begin = numbers(buffers["begin"], count), end = numbers(buffers["end"], count);
  for (std::size_t b = 0; b < count; ++b) {
    EXPECT_EQ(bytes[b], plan.buffers[b].bytes);
    EXPECT_EQ(offset[b], plan.buffers[b].offset);
    EXPECT_EQ(begin[b], plan.buffers[b].begin);
    EXPECT_EQ(end[b], plan.buffers[b].end);
  }
  const auto reads = numbers(page["steps"]["in"]["count"], plan.steps.size());
  for (std::size_t t = 0; t < plan.steps.size(); ++t)
    EXPECT_EQ(reads[t], static_cast<std::int64_t>(plan.steps[t].in.size()));
}

TEST(Page, RolesCoverEveryBuffersLife) {
  const Graph graph = models::transformer(2, 4, 64, 64, 2);
  const Plan free = make_plan(graph, test_target());
  const Plan plan = make_plan(graph, test_target(), {.memory = free.peak() * 8 / 10});
  const std::vector<std::vector<RoleSpan>> spans = roles_over_time(graph, plan);
  std::vector<std::int64_t> load(plan.steps.size(), 0);
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    if (buffer.binding == Binding::tile) {
      EXPECT_TRUE(spans[b].empty());
      continue;
    }
    ASSERT_FALSE(spans[b].empty()) << "buffer " << b;
    if (buffer.binding != Binding::argument) {
      EXPECT_EQ(spans[b].front().begin, buffer.begin);
      EXPECT_EQ(spans[b].back().end, buffer.end);
    }
    for (std::size_t k = 0; k < spans[b].size(); ++k) {
      EXPECT_LT(spans[b][k].begin, spans[b][k].end);
      const std::int32_t before = k > 0 ? spans[b][k - 1].end : spans[b][k].begin;
      EXPECT_EQ(spans[b][k].begin, before);
      for (std::int32_t t = spans[b][k].begin; t < spans[b][k].end; ++t)
        load[static_cast<std::size_t>(t)] += buffer.bytes;
    }
  }
  const PeakSplit split = peak_split(graph, plan);
  const std::int64_t held = std::accumulate(split.bytes.begin(), split.bytes.end(), std::int64_t{0});
  EXPECT_EQ(held, plan.peak());
  EXPECT_EQ(load[static_cast<std::size_t>(peak_step(plan))], plan.peak() - split.of(PeakRole::unused));
}

TEST(Page, AValueThatIsMadeTwiceIsRecomputedTheSecondTime) {
  const Graph graph = models::mlp(8, 256, 64);
  const Plan free = make_plan(graph, test_target());
  const Plan plan = make_plan(graph, test_target(), {.memory = free.peak() * 85 / 100});
  ASSERT_GT(repeats_of(plan), 0);
  int recomputed = 0;
  for (const std::vector<RoleSpan>& spans : roles_over_time(graph, plan)) {
    for (const RoleSpan& span : spans) recomputed += span.role == PeakRole::recomputed;
  }
  EXPECT_GT(recomputed, 0);
}

TEST(Page, PartsAreNamedByTheParametersThatAreReadThere) {
  Graph graph;
  models::TrainingStep step(graph);
  Var x = step.data({4, 8}, "x");
  for (int layer = 0; layer < 3; ++layer) {
    const Var w = step.parameter({8, 8}, "arg0.parameters.layers." + std::to_string(layer) + ".weight");
    x = tanh(matmul(x, w));
  }
  step.finish(reduce_sum(x, all_axes(2)), false);
  const GraphRegions regions = regions_of(graph, phases_of(graph));
  EXPECT_EQ(regions.names, (std::vector<std::string>{"layers.0", "layers.1", "layers.2"}));
  for (std::size_t n = 1; n < graph.nodes().size(); ++n) {
    if (graph.nodes()[n].op->name != "tanh") continue;
    EXPECT_EQ(regions.of_node[n], regions.of_node[n - 1]);
  }
}

TEST(Page, ABudgetThatIsNotMetIsSaid) {
  const Graph graph = models::mlp(2, 8, 16);
  Plan plan = make_plan(graph, test_target());
  plan.budget = plan.peak() - 1024;
  EXPECT_THAT(verdict(graph, plan), testing::HasSubstr("Does not fit"));
  EXPECT_EQ(data_in(page_html(content_of(graph, plan)))["plans"][0]["figures"]["fits"], false);
}

TEST(Page, NoStepsAreAPageToo) {
  Graph graph;
  graph.add_output(graph.add_input({DType::f32, {4}}, "x"));
  const Plan plan = make_plan(graph, test_target());
  EXPECT_EQ(data_in(page_html(content_of(graph, plan)))["plans"][0]["buffers"]["count"], plan.buffers.size());
}

}  // namespace
}  // namespace tidemark
