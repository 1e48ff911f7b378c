// The algorithms of a plan's products, while it is made ready: those that it records are taken as they are,
// others are chosen and noted (plan/algorithms.h).
#pragma once
#include <map>
#include <optional>
#include <string>

#include "tidemark/cuda/product_choices.h"
#include "tidemark/plan/algorithms.h"

namespace tidemark::cuda {

std::string to_text(const ProductAlgorithm& algorithm);                         // 128 digits
std::optional<ProductAlgorithm> product_algorithm_of(const std::string& text);  // none: it is no such text

class PlanAlgorithms {
 public:
  // `machine`: where it runs. Throws Error no_kernel where the plan has algorithms of another, or what are
  // none.
  PlanAlgorithms(const PlannedAlgorithms& recorded, std::string machine);

  bool are_recorded() const { return !recorded_.empty(); }
  // What the plan records. Throws Error no_kernel where it records others and not this one.
  std::optional<ProductAlgorithm> recorded(const std::string& form) const;
  [[noreturn]] void refuse(const std::string& form) const;  // the library here cannot run what is recorded
  void note(const std::string& form, const ProductAlgorithm& used) { used_[form] = used; }
  PlannedAlgorithms used() const;

 private:
  const std::string machine_;
  std::map<std::string, ProductAlgorithm> recorded_, used_;  // by form
};

}  // namespace tidemark::cuda
