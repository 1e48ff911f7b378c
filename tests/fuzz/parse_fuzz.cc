// Any text is either a clean Error or a graph that verifies, prints and reads back as itself.
#include <string_view>

#include "tests/fuzz/fuzz_entry.h"
#include "tidemark/base/error.h"
#include "tidemark/ir/compare.h"
#include "tidemark/ir/parse.h"
#include "tidemark/ir/print.h"
#include "tidemark/ir/verify.h"
#include "tidemark/ops/registry.h"

extern "C" int parse_fuzz(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark;
  constexpr OpLookup lookup{.find = find_op, .nearest = nearest_op};
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const Graph graph = parse(text, lookup, "fuzz.ir");
    try {
      verify(graph);
      const std::string printed = print(graph);
      const Graph back = parse(printed, lookup, "printed.ir");
      TM_CHECK(same_graph(graph, back) && print(back) == printed, "{}", printed);
    } catch (const Error& error) {
      TM_CHECK(false, "a graph that was accepted is refused later: {}", error.what());
    }
  } catch (const Error& error) {
    TM_CHECK(error.where().known(), "an error without a place: {}", error.what());
  }
  return 0;
}
