// Sanitizers make a run ten times as long: laws over many seeds then take a share of them. The plain build takes all.
#pragma once
#include "tidemark/base/sanitized.h"

namespace tidemark {

inline constexpr bool few = sanitized;  // too few for counts of what was met

// How many of `all` seeds this build takes.
constexpr unsigned seeds(unsigned all) { return (all + sanitizer_share - 1) / sanitizer_share; }

}  // namespace tidemark
