// Where examples come from: a number of them, and how those with given indices become a batch, whose tensors
// have one dimension more in front. Sources are read by the loader's own thread.
//
//   arrays(tree)            tensors whose first dimensions are the examples
//   examples(size, get)     your own function: get(index) → tree, stacked
//   windows(file, context)  stretches of context + 1 tokens (token_file.h)
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "tidemark/trace/tree.h"

namespace tidemark::data {

template <class Tree>
struct Source {
  std::int64_t size = 0;
  std::function<Tree(std::span<const std::int64_t> indices)> gather;
};

// Rows of each tensor, in the order of the indices.
std::vector<Tensor> take_rows(std::span<const Tensor> tensors, std::span<const std::int64_t> indices);
// Of lists of tensors, one per example, the tensors at each place one above the other. Throws Error
// `bad_loader_option` where examples have different types.
std::vector<Tensor> stack_examples(std::span<const std::vector<Tensor>> examples);
// The length that all have. Throws Error `bad_loader_option` where they differ, or nothing has one.
std::int64_t common_length(std::span<const Tensor> tensors, std::span<const std::string> names,
                           SourceLine where);

template <class Tree>
Source<Tree> arrays(const Tree& tree, SourceLine where = std::source_location::current()) {
  std::vector<std::string> names;
  for_each_tensor(tree, [&](const std::string& path, const Tensor&) { names.push_back(path); });
  const std::int64_t size = common_length(tensors_of(tree), names, where);
  return {size, [tree, tensors = tensors_of(tree)](std::span<const std::int64_t> indices) {
            return with_tensors(tree, take_rows(tensors, indices));
          }};
}

template <class Get>
auto examples(std::int64_t size, Get get) {
  using Tree = std::decay_t<decltype(get(std::int64_t{}))>;
  return Source<Tree>{size, [get = std::move(get)](std::span<const std::int64_t> indices) {
                        std::optional<Tree> first;
                        std::vector<std::vector<Tensor>> lists;
                        for (const std::int64_t index : indices) {
                          Tree example = get(index);
                          lists.push_back(tensors_of(example));
                          if (!first) first = std::move(example);
                        }
                        return with_tensors(*std::move(first), stack_examples(lists));
                      }};
}

}  // namespace tidemark::data
