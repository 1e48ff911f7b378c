// Trees of tensors in files: parameters, optimizer states, anything with TM_FIELDS, vectors, maps, tuples.
// Example, as in docs/files.md:
//   td::save("net.safetensors", net);
//   td::load("net.safetensors", other);
//
// Each tensor has the name of its path, as "blocks.3.attention.query"; a tensor alone is "tensor". Numbers
// and texts of a tree are not written. The format is safetensors, or NumPy's where the path ends with .npz,
// or with .npy for a single tensor.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tidemark/files/archive.h"
#include "tidemark/trace/name_pattern.h"
#include "tidemark/trace/tree.h"

namespace tidemark {

struct LoadOptions {
  // Every tensor of the tree is in the file, and the other way round. If not: those that are in both are
  // loaded, the others keep what they hold, and the report names them.
  bool strict = true;
  // Tensors of the tree (patterns, name_pattern.h) that are loaded and that are not, whatever the file has;
  // the others keep what they hold. Nothing given: all of them, and none. With `strict`, a pattern of `only`
  // that matches nothing is an error.
  std::vector<std::string> only = {};
  std::vector<std::string> skip = {};
  // From names of the tree to names of the file: `names` by patterns, the first that matches; then `rename`.
  std::vector<NamePattern> names = {};
  std::function<std::string(const std::string&)> rename = {};
  // Other dtypes are converted to the tree's, rounded once; otherwise they are refused.
  bool convert = false;
  // Tensors lie in the file itself: nothing is copied, pages are read when they are used. Such a tensor
  // cannot be donated, and nobody may cut the file off meanwhile. Not for .npz.
  bool map = false;
};

// Names of the tree, but for `unused`.
struct LoadReport {
  std::vector<std::string> loaded = {};
  std::vector<std::string> missing = {};    // not in the file, and as they were
  std::vector<std::string> skipped = {};    // by `only` and `skip`, and as they were
  std::vector<std::string> converted = {};  // of the loaded ones: from another dtype
  std::vector<std::string> unused = {};     // of the file: for nothing in the tree
  FileMetadata metadata;                    // what else the file says
};
std::string to_string(const LoadReport& report);  // a line: "148 tensors loaded, 2 missing (head.bias, …)"

// A tensor of a tree, with its name.
struct TensorSlot {
  std::string name;
  Tensor* tensor;
};

void save_tensors(const std::string& path, const std::vector<NamedTensor>& tensors,
                  const FileMetadata& metadata, SourceLine where);
LoadReport load_tensors(const std::string& path, const std::vector<TensorSlot>& slots,
                        const LoadOptions& options, SourceLine where);
// The same from a file that is open.
LoadReport load_tensors(const TensorArchive& archive, const std::vector<TensorSlot>& slots,
                        const LoadOptions& options, SourceLine where);

std::string tensor_name(const std::string& path);  // "tensor" for the path of a tensor alone

template <class Tree>
std::vector<NamedTensor> named_tensors(const Tree& tree) {
  std::vector<NamedTensor> list;
  for_each_tensor(tree, [&](const std::string& path, const Tensor& tensor) {
    list.push_back({tensor_name(path), tensor});
  });
  return list;
}
template <class Tree>
std::vector<TensorSlot> tensor_slots(Tree& tree) {
  std::vector<TensorSlot> list;
  for_each_tensor(tree, [&](const std::string& path, Tensor& tensor) {
    list.push_back({tensor_name(path), &tensor});
  });
  return list;
}

// The file is replaced at once, or stays as it was.
template <class Tree>
void save(const std::string& path, const Tree& tree, const FileMetadata& metadata = {},
          SourceLine where = std::source_location::current()) {
  save_tensors(path, named_tensors(tree), metadata, where);
}

// Tensors of the tree say which shape and dtype they want; empty ones take what comes. All of them are
// loaded, or an Error leaves the tree as it was: `bad_data_file` for a file that is broken, `tensors_differ`
// for one that is sound and another tree's.
template <class Tree>
LoadReport load(const std::string& path, Tree& tree, const LoadOptions& options = {},
                SourceLine where = std::source_location::current()) {
  return load_tensors(path, tensor_slots(tree), options, where);
}

// Everything that is in a file.
std::map<std::string, Tensor> load(const std::string& path,
                                   SourceLine where = std::source_location::current());

}  // namespace tidemark
