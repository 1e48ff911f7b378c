// Counts what the process allocates, by hooks on malloc and its kin and on mmap. The hooks are weak: files of
// one test program that include this share one of each. Under a sanitizer, which owns the allocator, nothing
// is counted (`hooked`).
#pragma once
#include <dlfcn.h>
#include <malloc.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/sanitized.h"

extern "C" void cblas_dgemm(int order, int transposed_a, int transposed_b, int m, int n, int k, double alpha,
                            const double* a, int lda, const double* b, int ldb, double beta, double* c,
                            int ldc);

namespace tidemark {

inline std::atomic<std::int64_t> live_bytes{0}, peak_bytes{0}, allocations{0};
inline std::atomic<bool> counting{false};

namespace hooks {
inline void add(std::int64_t bytes) {
  if (!counting) return;
  const std::int64_t now = live_bytes += bytes;
  if (bytes > 0) ++allocations;
  for (std::int64_t seen = peak_bytes; now > seen && !peak_bytes.compare_exchange_weak(seen, now);) {
  }
}
inline void* added(void* p) {
  if (p) add(static_cast<std::int64_t>(malloc_usable_size(p)));
  return p;
}
template <class F>
F* next(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}
}  // namespace hooks

}  // namespace tidemark

#if !TM_SANITIZED
// Visible, or the linker would keep them for this program alone, and nothing that libraries allocate would be
// seen.
#define TM_HOOK extern "C" __attribute__((weak, visibility("default")))
TM_HOOK void* malloc(std::size_t size) {
  static auto* real = tidemark::hooks::next<void*(std::size_t)>("malloc");
  return tidemark::hooks::added(real(size));
}
TM_HOOK void* realloc(void* p, std::size_t size) {
  static auto* real = tidemark::hooks::next<void*(void*, std::size_t)>("realloc");
  if (p) tidemark::hooks::add(-static_cast<std::int64_t>(malloc_usable_size(p)));
  return tidemark::hooks::added(real(p, size));
}
TM_HOOK void free(void* p) {
  static auto* real = tidemark::hooks::next<void(void*)>("free");
  if (p) tidemark::hooks::add(-static_cast<std::int64_t>(malloc_usable_size(p)));
  real(p);
}
TM_HOOK void* aligned_alloc(std::size_t alignment, std::size_t size) {
  static auto* real = tidemark::hooks::next<void*(std::size_t, std::size_t)>("aligned_alloc");
  return tidemark::hooks::added(real(alignment, size));
}
TM_HOOK int posix_memalign(void** p, std::size_t alignment, std::size_t size) noexcept {
  static auto* real = tidemark::hooks::next<int(void**, std::size_t, std::size_t)>("posix_memalign");
  const int status = real(p, alignment, size);
  if (status == 0) tidemark::hooks::added(*p);
  return status;
}
TM_HOOK void* mmap(void* at, std::size_t size, int protection, int flags, int file, off_t offset) {
  static auto* real = tidemark::hooks::next<void*(void*, std::size_t, int, int, int, off_t)>("mmap");
  void* p = real(at, size, protection, flags, file, offset);
  if (p != MAP_FAILED) tidemark::hooks::add(static_cast<std::int64_t>(size));
  return p;
}
TM_HOOK int munmap(void* at, std::size_t size) {
  static auto* real = tidemark::hooks::next<int(void*, std::size_t)>("munmap");
  tidemark::hooks::add(-static_cast<std::int64_t>(size));
  return real(at, size);
}
#undef TM_HOOK
#endif

namespace tidemark {

constexpr bool hooked = !sanitized;  // a sanitizer owns the allocator

struct Counted {
  std::int64_t peak = 0, allocations = 0;
};
// Throws where the hooks see nothing: whoever counts would find nothing wrong.
inline void check_hooks() {
  if (!hooked) return;
  const std::int64_t before = allocations;
  auto* const text = new std::string(1000, ' ');  // made inside the standard library
  std::string* volatile kept = text;
  delete kept;
  if (allocations == before)
    throw std::logic_error("count_allocations: the hooks on malloc are not in place");
}

// Threads of OpenBLAS start when the program does, and each takes 32 MiB of addresses when it first runs,
// which on a busy machine may be much later. A product of all of them ends when all have.
inline void wait_for_blas() {
  constexpr int n = 1000, row_major = 101, as_it_is = 111;
  const std::vector<double> a(std::size_t{n} * n, 1.0);
  std::vector<double> c(a.size());
  cblas_dgemm(row_major, as_it_is, as_it_is, n, n, n, 1.0, a.data(), n, a.data(), n, 0.0, c.data(), n);
}

template <class F>
Counted count_allocations(const F& f) {
  [[maybe_unused]] static const bool blas_is_ready = (wait_for_blas(), true);
  counting = true;
  check_hooks();
  live_bytes = 0, peak_bytes = 0, allocations = 0;
  f();
  counting = false;
  return {peak_bytes, allocations};
}

}  // namespace tidemark
