// vmap(f): a function of one example becomes one of a batch of them. Nothing loops over the examples: the
// program itself gets a dimension more.
//
//   vmap(f)(x, y)                                    every argument along its first dimension
//   vmap(f, {.in_axes = {not_mapped, 0, 0}})(p, x, y)      p is the same for all examples
//   vmap(f, {.in_axes = {MapAxes{{"w", 0}, {"b", not_mapped}}}})(p)     parts of a tree, by their paths
//   vmap(grad(loss), {.in_axes = {not_mapped, 0, 0}})(params, x, y)     a gradient for each example
//
// Arguments and results are trees of tensors; results have their examples along `out_axis`. It nests, and
// goes around and inside of all derivatives, loops, branches and compile. A key that is mapped gives each
// example its own random numbers; one that is not, the same to all.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tidemark/trace/traced_call.h"

namespace tidemark {

// Of what is the same for all examples.
inline constexpr std::nullopt_t not_mapped = std::nullopt;

// The dimension of the examples in the tensors of one argument.
class MapAxes {
 public:
  struct Part {
    std::string path;         // a tensor of the argument, or a part of its tree; empty: all of it
    std::optional<int> axis;  // negative ones count from the last dimension
  };
  MapAxes(int axis) : parts_{{"", axis}} {}                      // NOLINT: implicit by design
  MapAxes(std::nullopt_t) : parts_{{"", std::nullopt}} {}        // NOLINT: implicit by design
  MapAxes(std::initializer_list<Part> parts) : parts_(parts) {}  // what no part names: dimension 0

  const std::vector<Part>& parts() const { return parts_; }

 private:
  std::vector<Part> parts_;
};

struct VmapOptions {
  std::vector<MapAxes> in_axes = {};  // one per argument; none: dimension 0 of all
  int out_axis = 0;                   // of every result; negative ones count from the last dimension
};

namespace detail {

// Goes through the arguments, takes note of what is mapped, and leaves the types of one example.
class StandInForExample final : public TreeVisitor {
 public:
  StandInForExample(const VmapOptions& options, std::size_t arguments, SourceLine where);
  void begin_argument();
  void end_argument();
  void on_tensor(Tensor& tensor) override;
  // Throws unless something is mapped.
  void finish() const;

  std::vector<Tensor> tensors;
  std::vector<int> axes;  // of each; -1: not mapped
  std::int64_t size = -1;

 private:
  const VmapOptions& options_;
  SourceLine where_;
  std::size_t argument_ = 0;
  std::vector<bool> named_;  // parts of the argument that some tensor belongs to
  std::string first_;        // the tensor that gave the size
};

std::vector<Tensor> apply_vmap(const Graph& graph, const StandInForExample& mapped,
                               std::span<const Tensor> captured, const VmapOptions& options,
                               SourceLine where);

}  // namespace detail

template <class F>
auto vmap(F f, VmapOptions options = {}, SourceLine where = std::source_location::current()) {
  return [f = std::move(f), options = std::move(options), where](const auto&... args) {
    std::tuple<std::decay_t<decltype(args)>...> example(args...);
    detail::StandInForExample mapped(options, sizeof...(args), where);
    const auto stand_in = [&](auto& argument) {
      mapped.begin_argument();
      walk_tree(argument, mapped);
      mapped.end_argument();
    };
    std::apply([&](auto&... argument) { (stand_in(argument), ...); }, example);
    mapped.finish();
    const auto call = trace_call(f, example, where);
    const std::span<const Tensor> captured = std::span(call.inputs).subspan(call.argument_ends.back());
    return with_tensors(call.result, detail::apply_vmap(*call.graph, mapped, captured, options, where));
  };
}

}  // namespace tidemark
