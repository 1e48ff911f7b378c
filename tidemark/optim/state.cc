#include "tidemark/optim/state.h"

#include "tidemark/trace/functions.h"

namespace tidemark::optim {
namespace {

constexpr std::string_view parameters_field = "parameters", steps_field = "steps";

}  // namespace

void StateLists::on_tensor(Tensor& tensor) {
  const std::size_t dot = path().find('.');
  const std::string_view field = std::string_view(path()).substr(0, dot);
  (*this)[field].push_back(tensor);
  if (field == parameters_field) {
    names_.push_back(dot == std::string::npos ? std::string(field) : path().substr(dot + 1));
  }
}

Tensors& StateLists::operator[](std::string_view field) {
  for (auto& [name, list] : fields_) {
    if (name == field) return list;
  }
  return fields_.emplace_back(std::string(field), Tensors()).second;
}

Tensors StateLists::all() const {
  Tensors tensors;
  for (const auto& [name, list] : fields_) tensors.insert(tensors.end(), list.begin(), list.end());
  return tensors;
}

void StateLists::check_sizes(std::size_t gradients, SourceLine where) const {
  const auto check = [&](std::size_t size, std::string_view what) {
    if (size == names_.size()) return;
    fail(ErrorCode::structure_mismatch,
         {.what = fmt::format("an update of {} parameters with a tree `{}` of {}", names_.size(), what, size),
          .expected = fmt::format("a tree `{}` like that of the parameters", what),
          .where = where});
  };
  check(gradients, "gradients");
  for (const auto& [name, list] : fields_) {
    if (name != steps_field) check(list.size(), name);
  }
}

Tensor StateLists::count_step() {
  Tensor& steps = (*this)[steps_field].at(0);
  const Tensor before = steps;
  steps = before + 1;
  return before;
}

DType moment_dtype(DType parameter) { return size_of(parameter) == 2 ? DType::f32 : parameter; }
Tensor zero_moment(const Tensor& parameter) {
  if (!is_float(parameter.dtype())) return no_moment(parameter);
  return zeros(parameter.shape(), moment_dtype(parameter.dtype()));
}
Tensor no_moment(const Tensor& parameter) { return zeros({0}, moment_dtype(parameter.dtype())); }
Tensor no_steps() { return zeros({}, DType::i32); }
Tensor widened(const Tensor& x) { return cast(x, moment_dtype(x.dtype())); }

Tensor moving_mean(const Tensor& x, const Tensor& y, double beta) {
  const Tensor kept = x * beta;
  return kept + y * (1 - beta);
}

}  // namespace tidemark::optim
