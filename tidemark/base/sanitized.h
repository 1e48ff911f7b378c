// Whether this build runs under a sanitizer, and what that asks of it. Such a build looks for errors of memory and
// threads, not for good plans, and takes tens of times as long: searches get a share of their work there.
#pragma once

namespace tidemark {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
#else
inline constexpr bool sanitized = false;
#endif

inline constexpr unsigned sanitizer_share = sanitized ? 12 : 1;

}  // namespace tidemark
