// Sanitizers make a run ten times as long: laws over many seeds then take a share of them. The plain build
// takes all. Only tests know: the library is the same in every build, and a test says itself which effort it
// wants.
#pragma once

namespace tidemark {

// g++ defines a macro, clang has a feature.
#if defined(__SANITIZE_ADDRESS__)
#define TM_SANITIZED 1
inline constexpr bool sanitized = true, looks_for_races = false;
#elif defined(__SANITIZE_THREAD__)
#define TM_SANITIZED 1
inline constexpr bool sanitized = true, looks_for_races = true;
#elif defined(__has_feature)
#define TM_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#if __has_feature(thread_sanitizer)
inline constexpr bool sanitized = true, looks_for_races = true;
#else
inline constexpr bool sanitized = __has_feature(address_sanitizer), looks_for_races = false;
#endif
#else
#define TM_SANITIZED 0
inline constexpr bool sanitized = false, looks_for_races = false;
#endif

inline constexpr unsigned sanitizer_share = sanitized ? 12 : 1;
inline constexpr bool few = sanitized;  // too few for counts of what was met

// How many of `all` seeds this build takes.
constexpr unsigned seeds(unsigned all) { return (all + sanitizer_share - 1) / sanitizer_share; }

}  // namespace tidemark
