// Counts what the process allocates, by hooks on malloc and mmap. Include it in one file of a test program: it defines
// them. Under a sanitizer, which owns the allocator, nothing is counted (`hooked`).
#pragma once
#include <dlfcn.h>
#include <malloc.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>

namespace {
std::atomic<std::int64_t> live_bytes{0}, peak_bytes{0}, allocations{0};
std::atomic<bool> counting{false};

[[maybe_unused]] void add(std::int64_t bytes) {
  if (!counting) return;
  const std::int64_t now = live_bytes += bytes;
  if (bytes > 0) ++allocations;
  for (std::int64_t seen = peak_bytes; now > seen && !peak_bytes.compare_exchange_weak(seen, now);) {
  }
}
template <class F>
[[maybe_unused]] F* next(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}
}  // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C" {
void* malloc(std::size_t size) {
  static auto* real = next<void*(std::size_t)>("malloc");
  void* p = real(size);
  if (p) add(static_cast<std::int64_t>(malloc_usable_size(p)));
  return p;
}
void free(void* p) {
  static auto* real = next<void(void*)>("free");
  if (p) add(-static_cast<std::int64_t>(malloc_usable_size(p)));
  real(p);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  static auto* real = next<void*(std::size_t, std::size_t)>("aligned_alloc");
  void* p = real(alignment, size);
  if (p) add(static_cast<std::int64_t>(malloc_usable_size(p)));
  return p;
}
void* mmap(void* at, std::size_t size, int protection, int flags, int file, off_t offset) {
  static auto* real = next<void*(void*, std::size_t, int, int, int, off_t)>("mmap");
  void* p = real(at, size, protection, flags, file, offset);
  if (p != MAP_FAILED) add(static_cast<std::int64_t>(size));
  return p;
}
int munmap(void* at, std::size_t size) {
  static auto* real = next<int(void*, std::size_t)>("munmap");
  add(-static_cast<std::int64_t>(size));
  return real(at, size);
}
}
#endif

namespace tidemark {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool hooked = false;  // the sanitizer owns the allocator
#else
constexpr bool hooked = true;
#endif

struct Counted {
  std::int64_t peak = 0, allocations = 0;
};
template <class F>
Counted count_allocations(const F& f) {
  live_bytes = 0, peak_bytes = 0, allocations = 0;
  counting = true;
  f();
  counting = false;
  return {peak_bytes, allocations};
}

}  // namespace tidemark
