// What a command plans: the name of a built-in model with its sizes, or a file.
#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "tidemark/ir/graph.h"
#include "tidemark/nn/zoo.h"

namespace tidemark::cli {

enum class ModelKind { built_in, graph_file, dag_file };

struct ModelOption {
  std::string model;
  std::optional<std::int64_t> batch, context, width, layers;  // of a built-in model; not given: its own
  std::string dtype, optimizer;
  std::int64_t split = 1;  // micro-batches of a built-in model's step

  std::optional<std::int64_t>& size(nn::ZooAxis axis);
  // By its name: a built-in model, else *.json is a graph of costs and bytes, and any other file is text of
  // the IR. Throws Error when it is none of them.
  ModelKind kind() const;
  // The graph of a training step, or of the file; not for dag files.
  Graph load() const;
};

void add_model_options(CLI::App& command, ModelOption& option);

// Throws Error if one of the options was given: one that cannot have an effect must not pass in silence.
void refuse_options(const CLI::App& command, std::initializer_list<const char*> names,
                    std::string_view subject);

}  // namespace tidemark::cli
