// Which modes the nodes with regions take, searched for together with what runs again outside: as a joint
// problem in which such a node is a choice of tasks, one for each of its modes.
#pragma once
#include "tidemark/plan/passes/draft.h"
#include "tidemark/plan/passes/regions.h"

namespace tidemark {

// `ordered`: all but remat and what follows is decided, with free bodies. The modes of the best schedule
// found in so many units of work whose load is within `allowed`; of the lowest where none is.
Bodies::Choice modes_within(const Bodies& bodies, const Draft& ordered, std::int64_t allowed,
                            std::int64_t units);

}  // namespace tidemark
