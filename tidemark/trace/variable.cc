#include "tidemark/trace/variable.h"

#include "tidemark/trace/tensor.h"

namespace tidemark {

std::shared_ptr<Watch> Variable::watch() const {
  std::shared_ptr<Watch>* own = own_.load(std::memory_order_acquire);
  if (!own) {
    auto fresh =
        std::make_unique<std::shared_ptr<Watch>>(std::make_shared<Watch>(static_cast<const Tensor*>(this)));
    if (own_.compare_exchange_strong(own, fresh.get(), std::memory_order_acq_rel)) own = fresh.release();
  }
  return *own;
}

std::shared_ptr<Watch> Variable::origin() const {
  return origin_ && origin_trace_ == outermost_trace ? origin_ : watch();
}

void Variable::follow(const Variable& other) noexcept {
  if (&other == this) return;
  if (outermost_trace == 0 || !static_cast<const Tensor&>(other).is_data()) {
    origin_.reset();
    return;
  }
  origin_ = other.origin();
  origin_trace_ = outermost_trace;
}

void Variable::end() {
  std::shared_ptr<Watch>* own = own_.load(std::memory_order_acquire);
  (*own)->end();
  delete own;
}

}  // namespace tidemark
