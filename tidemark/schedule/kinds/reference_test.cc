// Every row of the tables of reference optima: the schedule promises the optimum, and the verifier confirms
// it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "tidemark/schedule/kinds/binomial_count.h"
#include "tidemark/schedule/kinds/online.h"
#include "tidemark/schedule/plan.h"
#include "tidemark/schedule/verify.h"

namespace tidemark::schedule {
namespace {

using Row = std::map<std::string, std::string>;

bool read_line(std::istream& in, std::string& line) {
  if (!std::getline(in, line)) return false;
  if (line.ends_with('\r')) line.pop_back();
  return true;
}

std::vector<Row> table(const std::string& name) {
  std::ifstream in(std::filesystem::path(TIDEMARK_SHARED_DATA) / "schedules" / name);
  std::vector<Row> rows;
  std::string line, cell;
  std::vector<std::string> names;
  if (!read_line(in, line)) return rows;
  for (std::istringstream cells(line); std::getline(cells, cell, ',');) names.push_back(cell);
  while (read_line(in, line)) {
    Row row;
    std::size_t i = 0;
    for (std::istringstream cells(line); std::getline(cells, cell, ',');) row[names.at(i++)] = cell;
    rows.push_back(std::move(row));
  }
  return rows;
}

#define TABLE_OR_SKIP(rows, name)            \
  const std::vector<Row> rows = table(name); \
  if (rows.empty()) GTEST_SKIP() << "there is no schedules/" name " under " TIDEMARK_SHARED_DATA

std::int64_t whole(const Row& row, const char* name) { return std::stoll(row.at(name)); }
double real(const Row& row, const char* name) { return std::stod(row.at(name)); }

void expect_kept(const Question& question, const Schedule& schedule) {
  const std::optional<std::string> fault = verify(question, schedule);
  EXPECT_FALSE(fault) << question.steps << " steps: " << *fault;
}

TEST(Reference, BinomialAdvances) {
  TABLE_OR_SKIP(rows, "binomial_optimum.csv");
  for (const Row& row : rows) {
    const Step n = whole(row, "steps_l");
    const std::int64_t s = whole(row, "snapshots_s");
    const Question question{.steps = n, .kind = Kind::binomial, .levels = {{.slots = s}}};
    const std::unique_ptr<Schedule> schedule = make_schedule(question);
    EXPECT_EQ(schedule->promise().advances, whole(row, "advances_t")) << n << " " << s;
    EXPECT_EQ(schedule->promise().total_forward(), whole(row, "total_forward")) << n << " " << s;
    EXPECT_EQ(least_advances(n + 1, s), whole(row, "split_advances")) << n << " " << s;
    EXPECT_EQ(repeats_of(n, s), whole(row, "repetition_r")) << n << " " << s;
    EXPECT_EQ(longest_segment(s, repeats_of(n, s), INT64_MAX), whole(row, "beta_s_r")) << n << " " << s;
    if (n <= 20'000) expect_kept(question, *schedule);
  }
}

TEST(Reference, Mixed) {
  TABLE_OR_SKIP(rows, "mixed_optimum.csv");
  for (const Row& row : rows) {
    const Question question{
        .steps = whole(row, "steps_n"), .kind = Kind::mixed, .levels = {{.slots = whole(row, "units_s")}}};
    const std::unique_ptr<Schedule> schedule = make_schedule(question);
    EXPECT_EQ(schedule->promise().total_forward(), whole(row, "mixed_total_forward")) << question.steps;
    expect_kept(question, *schedule);
    EXPECT_EQ(least_advances(question.steps, question.levels[0].slots) + question.steps,
              whole(row, "binomial_total_forward"));
  }
}

// The table's ratios are what no policy can do better than.
TEST(Reference, OnlineIsNearTheBestPossible) {
  TABLE_OR_SKIP(rows, "online_minimax_ratio.csv");
  for (const Row& row : rows) {
    const std::int64_t s = whole(row, "snapshots_s");
    const bool joint = row.at("mode") == "A_joint";
    double worst = 1;
    Online online(s);
    for (Step n = 1; n <= whole(row, "horizon_N"); ++n) {
      if (!joint) online.visit(n - 1);
      const Step taken = joint ? n - 1 : n;
      const double total = static_cast<double>(n + taken + online.advances_to_finish(n));
      worst = std::max(worst, total / static_cast<double>(n + least_advances(joint ? n : n + 1, s)));
      if (joint) online.visit(n - 1);
    }
    EXPECT_GE(worst, real(row, "minimax_total_ratio") - 1e-5) << s;
    EXPECT_LE(worst, 1.033 * real(row, "minimax_total_ratio")) << s;
  }
}

TEST(Reference, TwoLevels) {
  TABLE_OR_SKIP(rows, "hrevolve2_optimum.csv");
  for (const Row& row : rows) {
    const Question question{.steps = whole(row, "steps_n"),
                            .kind = Kind::multilevel,
                            .levels = {{.slots = whole(row, "ram_slots"),
                                        .write_cost = real(row, "ram_write"),
                                        .read_cost = real(row, "ram_read")},
                                       {.slots = whole(row, "disk_slots"),
                                        .write_cost = real(row, "disk_write"),
                                        .read_cost = real(row, "disk_read")}},
                            .forward_cost = real(row, "uf"),
                            .reverse_cost = real(row, "ub")};
    const std::unique_ptr<Schedule> schedule = make_schedule(question);
    const Promise& promise = schedule->promise();
    EXPECT_DOUBLE_EQ(promise.cost, real(row, "cost_excl_taping")) << question.steps;
    EXPECT_DOUBLE_EQ(promise.cost + question.forward_cost * static_cast<double>(promise.recorded),
                     real(row, "cost_incl_taping"));
    expect_kept(question, *schedule);
  }
}

TEST(Reference, UnboundedDisk) {
  TABLE_OR_SKIP(rows, "disk_revolve_optimum.csv");
  for (const Row& row : rows) {
    const Question question{
        .steps = whole(row, "steps_n"),
        .kind = Kind::disk,
        .levels = {{.slots = whole(row, "ram_slots")},
                   {.write_cost = real(row, "disk_write"), .read_cost = real(row, "disk_read")}},
        .forward_cost = real(row, "uf"),
        .reverse_cost = real(row, "ub")};
    const std::unique_ptr<Schedule> schedule = make_schedule(question);
    const Promise& promise = schedule->promise();
    const double taped = promise.cost + question.forward_cost * static_cast<double>(promise.recorded);
    EXPECT_DOUBLE_EQ(taped, real(row, "cost_incl_taping_multi_read")) << question.steps;
    EXPECT_LE(taped, real(row, "cost_incl_taping_one_read"));
    expect_kept(question, *schedule);
  }
}

}  // namespace
}  // namespace tidemark::schedule
