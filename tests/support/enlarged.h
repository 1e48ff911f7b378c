// Large cases out of an op's small samples, so that its kernel has work to cut into tasks. Sizes that are
// equal in a sample mostly mean the same thing, so one number is picked and multiplied wherever it stands: in
// the operands' shapes, in those of the regions and, where the op takes it so, among the attributes. What
// does not fit together the type rule refuses.
#pragma once
#include <optional>
#include <vector>

#include "tests/support/law_case.h"

namespace tidemark::testing {

struct Growth {
  std::int64_t size = 0;    // which sizes grow
  bool attributes = false;  // integers equal to it in attributes grow along
};
// The ways in which a case may grow, first those in which attributes do: a window that does not grow is no
// work. Not all of them make a call that the op accepts.
std::vector<Growth> growths_of(const LawCase& law);

// With sizes times `factor`; nothing where the op does not take it so or it is more than a law has time for.
// Indices into what grows are drawn from all of it, and diagonals grow along, so that matrices stay regular.
std::optional<LawCase> enlarged(const LawCase& law, const Growth& growth, std::int64_t factor);

}  // namespace tidemark::testing
