#include "tidemark/autodiff/vmap/vmap.h"

#include <algorithm>

#include "tidemark/autodiff/vmap/map_graph.h"
#include "tidemark/trace/trace.h"

namespace tidemark::detail {
namespace {

std::string path_in_argument(const std::string& path) {
  const std::size_t dot = path.find('.');
  return dot == std::string::npos ? "" : path.substr(dot + 1);
}

// Is it the part, or in it?
bool belongs(const std::string& path, const std::string& part) {
  return part.empty() || path == part || (path.starts_with(part) && path[part.size()] == '.');
}

}  // namespace

StandInForExample::StandInForExample(const VmapOptions& options, std::size_t arguments, SourceLine where)
    : options_(options), where_(where) {
  if (options.in_axes.empty() || options.in_axes.size() == arguments) return;
  fail(ErrorCode::structure_mismatch,
       {.what = fmt::format("vmap: in_axes has {} entries and the function is called with {} arguments",
                            options.in_axes.size(), arguments),
        .expected = "one for each argument: an axis or not_mapped",
        .where = where});
}

void StandInForExample::begin_argument() {
  enter("arg" + std::to_string(argument_));
  named_.assign(options_.in_axes.empty() ? 0 : options_.in_axes[argument_].parts().size(), false);
}

void StandInForExample::end_argument() {
  leave(0);
  for (std::size_t i = 0; i < named_.size(); ++i) {
    const std::string& part = options_.in_axes[argument_].parts()[i].path;
    if (named_[i] || part.empty()) continue;
    fail(
        ErrorCode::structure_mismatch,
        {.what = fmt::format("vmap: in_axes names `{}`, and argument {} has no such tensor", part, argument_),
         .expected = "the path of a tensor, or of a part of the tree",
         .where = where_});
  }
  ++argument_;
}

void StandInForExample::on_tensor(Tensor& tensor) {
  if (tensor.empty()) {
    fail(ErrorCode::structure_mismatch,
         {.what = fmt::format("argument {} holds an empty tensor", path()), .where = where_});
  }
  std::optional<int> axis = 0;
  const std::string own = path_in_argument(path());
  for (std::size_t i = 0; i < named_.size(); ++i) {
    const MapAxes::Part& part = options_.in_axes[argument_].parts()[i];
    if (!belongs(own, part.path)) continue;
    named_[i] = true;
    axis = part.axis;
  }
  tensors.push_back(tensor);
  axes.push_back(-1);
  if (!axis) return;
  Type type = tensor.type();
  const int at = *axis < 0 ? *axis + type.rank() : *axis;
  if (at < 0 || at >= type.rank()) {
    fail(ErrorCode::index_out_of_range,
         {.what = fmt::format("vmap: {} of type {} is to be mapped along axis {}", path(), to_string(type),
                              *axis),
          .expected = type.rank() == 0 ? "a dimension of examples"
                                       : fmt::format("an axis from {} to {}", -type.rank(), type.rank() - 1),
          .where = where_,
          .help = "what all examples share is not_mapped: vmap(f, {.in_axes = {…}})"});
  }
  if (size >= 0 && type.shape[at] != size) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("vmap: {} of type {} has {} examples along axis {}, and {} has {}", path(),
                              to_string(type), type.shape[at], at, first_, size),
          .expected = "as many in all that is mapped",
          .where = where_});
  }
  if (size < 0) size = type.shape[at], first_ = path();
  axes.back() = at;
  type.shape.erase(at);
  tensor = Tensor::of_type(type);
}

void StandInForExample::finish() const {
  if (size >= 0) return;
  fail(ErrorCode::structure_mismatch,
       {.what = tensors.empty() ? "vmap: there is no tensor among the arguments" : "vmap: nothing is mapped",
        .expected = "at least one argument with a dimension of examples",
        .where = where_});
}

std::vector<Tensor> apply_vmap(const Graph& graph, const StandInForExample& mapped,
                               std::span<const Tensor> captured, const VmapOptions& options,
                               SourceLine where) {
  if (graph.outputs().empty()) {
    fail(ErrorCode::structure_mismatch, {.what = "vmap: the function returns no tensor",
                                         .expected = "a tensor, or a tree that holds some",
                                         .where = where});
  }
  for (ValueId v : graph.outputs()) {
    const int rank = graph.type(v).rank() + 1;
    if (rank > max_rank) {
      fail(ErrorCode::shape_mismatch,
           {.what = fmt::format("vmap: the function returns {}, which leaves no dimension for the examples",
                                to_string(graph.type(v))),
            .expected = fmt::format("at most {} dimensions", max_rank - 1),
            .where = where});
    }
    if (options.out_axis >= -rank && options.out_axis < rank) continue;
    fail(ErrorCode::index_out_of_range,
         {.what = fmt::format("vmap: out_axis {} for a result that is {} for each example", options.out_axis,
                              to_string(graph.type(v))),
          .expected = fmt::format("an axis from {} to {}", -rank, rank - 1),
          .where = where});
  }
  std::vector<Tensor> inputs = mapped.tensors;
  inputs.insert(inputs.end(), captured.begin(), captured.end());
  std::vector<int> axes = mapped.axes;
  axes.resize(inputs.size(), -1);
  return apply(vmap_graph(graph, axes, mapped.size, options.out_axis), inputs, where);
}

}  // namespace tidemark::detail
