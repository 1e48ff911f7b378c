// Sanitizers make a run ten times as long: laws over many seeds then take a share of them. The plain build takes all.
#pragma once

namespace tidemark {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr unsigned sanitizer_share = 12;
#else
inline constexpr unsigned sanitizer_share = 1;
#endif

inline constexpr bool few = sanitizer_share > 1;  // too few for counts of what was met

// How many of `all` seeds this build takes.
constexpr unsigned seeds(unsigned all) { return (all + sanitizer_share - 1) / sanitizer_share; }

}  // namespace tidemark
