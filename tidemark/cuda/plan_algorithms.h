// The algorithms of a plan's products and convolutions, while it is made ready: those that it records are
// taken as they are, others are chosen and noted (plan/algorithms.h).
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "tidemark/cuda/product_choices.h"
#include "tidemark/plan/algorithms.h"

namespace tidemark::cuda {

std::string to_text(const ProductAlgorithm& algorithm);                         // 128 digits
std::optional<ProductAlgorithm> product_algorithm_of(const std::string& text);  // none: it is no such text

class PlanAlgorithms {
 public:
  // `machine`: where it runs. Throws Error no_kernel where the plan has algorithms of another.
  PlanAlgorithms(const PlannedAlgorithms& recorded, std::string machine);

  bool are_recorded() const { return !recorded_.empty(); }
  // What the plan records, as the one who noted it wrote it. Throws Error no_kernel where it records others
  // and not this one.
  std::optional<std::string> recorded(const std::string& form) const;
  // What is recorded cannot be had here; `have`: the library that is here.
  [[noreturn]] void refuse(const std::string& form, std::string_view have) const;
  void note(const std::string& form, std::string used) { used_[form] = std::move(used); }
  PlannedAlgorithms used() const;

 private:
  const std::string machine_;
  std::map<std::string, std::string> recorded_, used_;  // by form
};

}  // namespace tidemark::cuda
