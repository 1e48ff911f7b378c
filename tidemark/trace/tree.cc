#include "tidemark/trace/tree.h"

#include <fmt/format.h>

#include "tidemark/base/check.h"

namespace tidemark {

TreeVisitor::~TreeVisitor() = default;

std::size_t TreeVisitor::enter(std::string_view name) {
  const std::size_t before = path_.size();
  if (before > 0) path_ += '.';
  path_ += name;
  return before;
}
std::size_t TreeVisitor::enter(std::size_t number) { return enter(std::to_string(number)); }
void TreeVisitor::leave(std::size_t before) { path_.resize(before); }

namespace detail {

Collector::~Collector() = default;
void Collector::on_tensor(Tensor& tensor) { list.push_back(tensor); }

Replacer::~Replacer() = default;
void Replacer::on_tensor(Tensor& tensor) {
  if (next < list.size()) tensor = list[next];
  ++next;
}

std::string fixed_text(bool value) { return value ? "true" : "false"; }
std::string fixed_text(std::int64_t value) { return fmt::format("{}", value); }
std::string fixed_text(std::uint64_t value) { return fmt::format("{}", value); }
std::string fixed_text(double value) { return fmt::format("{}", value); }
std::string fixed_text(long double value) { return fmt::format("{}", value); }
std::string fixed_text(const std::string& value) { return value; }

void wrong_tensor_count(std::size_t given, std::size_t expected) {
  check_failed("the tree has as many tensors", SourceLine(__FILE__, __LINE__),
               fmt::format("{} tensors for a tree of {}", given, expected));
}

void fail_unlike_trees(std::size_t one, std::size_t other) {
  fail(ErrorCode::structure_mismatch,
       {.what = fmt::format("map_tree over trees of {} and {} tensors", one, other)});
}

}  // namespace detail
}  // namespace tidemark
