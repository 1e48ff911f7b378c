// Good layouts fast, for any number of blocks: first whole skylines with a few fixed tastes (real training
// plans end here, mostly at their bound), then skylines built level by level, where several tastes are tried
// for each level and the best goes on. Waste adds up over the levels, so the best of k per level is far
// better than the best of k overall.
#pragma once
#include <cstdint>

#include "tidemark/solve/pack/problem.h"
#include "tidemark/solve/pack/skyline.h"
#include "tidemark/solve/pack/work.h"

namespace tidemark::packing {

// Stops at the first layout that is not higher than `target`; the lowest of all otherwise.
Layout pack_whole(const Problem& problem, std::int64_t target, WorkMeter& meter);

// One build in levels, `tries` tastes for each. Improves `best` or leaves it; stops early when it cannot.
void pack_in_levels(const Problem& problem, int tries, Noise& noise, WorkMeter& meter, Layout& best);

}  // namespace tidemark::packing
