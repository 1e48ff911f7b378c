#include "tidemark/schedule/run/step_log.h"

#include <fmt/format.h>

#include "tidemark/base/error.h"
#include "tidemark/schedule/store/checksum.h"

namespace tidemark::schedule {

void StepLog::append(Step step, std::span<const std::byte> value) {
  if (step != count_)
    fail(ErrorCode::bad_run_option,
         {.what =
              fmt::format("step {} asked the step log for its value, but step {} has not yet", step, count_),
          .expected = "every step, from step 0 on, to call StepLog::once"});
  if (entry_bytes_ == 0) {
    entry_bytes_ = value.size();
    bytes_.reserve(entry_bytes_ * static_cast<std::size_t>(reserved_));
  }
  if (value.size() != entry_bytes_)
    fail(ErrorCode::bad_run_option, {.what = fmt::format("step {} logs {} bytes, the steps before it {} each",
                                                         step, value.size(), entry_bytes_),
                                     .expected = "values of one type from every step"});
  bytes_.insert(bytes_.end(), value.begin(), value.end());
  ++count_;
  digest_ = digest_after(digest_, value);
}

std::uint64_t StepLog::digest_after(std::uint64_t digest, std::span<const std::byte> entry) {
  return checksum(entry, digest);
}

std::span<const std::byte> StepLog::entry(Step step, std::size_t bytes) const {
  if (step < 0 || step >= count_ || bytes != entry_bytes_)
    fail(ErrorCode::bad_run_option,
         {.what = fmt::format("the step log was asked for {} bytes of step {}; it has {} steps of {} bytes",
                              bytes, step, count_, entry_bytes_)});
  return std::span(bytes_).subspan(static_cast<std::size_t>(step) * entry_bytes_, entry_bytes_);
}

void StepLog::restore(std::size_t entry_bytes, std::span<const std::byte> bytes) {
  if (entry_bytes == 0) return;
  for (; !bytes.empty(); bytes = bytes.subspan(entry_bytes)) append(count_, bytes.first(entry_bytes));
}

}  // namespace tidemark::schedule
