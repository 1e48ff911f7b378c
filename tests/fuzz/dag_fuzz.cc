// Any text is either a clean Error with a place, or a graph that reads back as itself and whose own order is
// a schedule that both ways of counting agree on.
#include <numeric>
#include <string_view>

#include "tests/fuzz/fuzz_entry.h"
#include "tidemark/base/check.h"
#include "tidemark/base/error.h"
#include "tidemark/solve/dag/schedule.h"

extern "C" int dag_fuzz(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Dag dag;
  try {
    dag = dag_from_json(text, "fuzz.dag.json");
  } catch (const Error& error) {
    TM_CHECK(error.where().known(), "an error without a place: {}", error.what());
    return 0;
  }
  const Dag back = dag_from_json(to_json(dag), "back.dag.json");
  TM_CHECK(back.names == dag.names && back.cost == dag.cost && back.bytes == dag.bytes);
  TM_CHECK(back.backward == dag.backward && back.edges == dag.edges);

  Sequence base(static_cast<std::size_t>(dag.size()));
  std::iota(base.begin(), base.end(), 0);
  const ScheduleCheck check = check_schedule(dag, base);
  TM_CHECK(!check.fault && check.in_order && check.repeats == 0);
  const RematProblem problem = problem_of(dag);
  TM_CHECK(is_valid_sequence(problem, base) && figures_of(problem, base).peak == check.peak);
  return 0;
}
