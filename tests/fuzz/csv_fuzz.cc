// Any text is either a clean Error with a place, or a table whose packing the judge accepts.
#include <string_view>

#include "tests/fuzz/fuzz_entry.h"
#include "tidemark/base/check.h"
#include "tidemark/base/error.h"
#include "tidemark/solve/pack/check.h"
#include "tidemark/solve/pack/csv.h"
#include "tidemark/solve/pack/pack.h"

extern "C" int csv_fuzz(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark;
  PackTable table;
  try {
    table = parse_pack_table({reinterpret_cast<const char*>(data), size}, "fuzz.csv", std::nullopt);
  } catch (const Error& error) {
    TM_CHECK(error.where().known(), "an error without a place: {}", error.what());
    return 0;
  }
  const PackResult result = pack(table.items, {.work = 100'000});
  const auto fault = check_packing(table.items, result.offsets);
  TM_CHECK(!fault, "{}", fault->what);
  TM_CHECK(result.height >= result.lower_bound);
  const std::string text = print_pack_table(table, result.offsets);
  const PackTable back = parse_pack_table(text, "back.csv", std::nullopt);
  TM_CHECK(back.items.size() == table.items.size() && back.ids == table.ids);
  return 0;
}
