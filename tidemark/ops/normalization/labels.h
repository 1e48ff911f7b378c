// Class labels as kernels of losses read them: i32 or i64, one per example, some of them perhaps ignored.
#pragma once
#include <string_view>

#include "tidemark/kernel/args.h"

namespace tidemark {

class Labels {
 public:
  template <class Attributes>
  Labels(const TensorRef& labels, const Attributes& attrs)
      : labels_(labels), ignore_(attrs.ignore), ignore_index_(attrs.ignore_index) {}

  std::int64_t count() const { return labels_.count(); }
  std::int64_t at(std::int64_t i) const {  // -1: ignored
    const std::int64_t label = read(i);
    return ignore_ && label == ignore_index_ ? -1 : label;
  }
  // Throws Error at the first label that is neither a class nor ignored: the same one on any number of
  // threads.
  void require_below(std::int64_t classes, std::string_view op, SourceLine where) const;

 private:
  std::int64_t read(std::int64_t i) const {
    return labels_.dtype == DType::i32 ? labels_.as<std::int32_t>()[i] : labels_.as<std::int64_t>()[i];
  }

  const TensorRef& labels_;
  bool ignore_;
  std::int64_t ignore_index_;
};

}  // namespace tidemark
