#include "tidemark/ir/op.h"

namespace tidemark {

std::string_view name_of(OpKind kind) {
  constexpr std::string_view names[] = {"elementwise", "reduction", "contraction", "movement",
                                        "random",      "control",   "opaque",      "composite"};
  return names[static_cast<int>(kind)];
}

std::string_view name_of(Replay replay) {
  constexpr std::string_view names[] = {"exact", "seeded", "never"};
  return names[static_cast<int>(replay)];
}

}  // namespace tidemark
