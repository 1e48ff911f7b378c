#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tidemark/kernel/philox_words.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "hwy/highway.h"
#include "tidemark/kernel/philox_words.h"
#include "tidemark/kernel/simd_philox-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tidemark {
namespace HWY_NAMESPACE {

void fill_words(Philox philox, std::uint64_t first, std::uint64_t stream, std::int64_t count,
                std::uint32_t* words) {
  philox_fill(philox, first, stream, count, words);
}

}  // namespace HWY_NAMESPACE
}  // namespace tidemark
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tidemark {
namespace {
HWY_EXPORT(fill_words);
}  // namespace

void philox_words(Philox philox, std::uint64_t first, std::uint64_t stream, std::int64_t count,
                  std::uint32_t* words) {
  HWY_DYNAMIC_DISPATCH(fill_words)(philox, first, stream, count, words);
}

}  // namespace tidemark
#endif
