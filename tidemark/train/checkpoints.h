// Checkpoints of a training run: everything that goes on from one step to the next, in one file that is
// written at once. A run that was killed, at any moment, resumes to the same bits.
// Example, as in docs/data.md:
//   td::TrainingCheckpoints checkpoints("run", {.keep = 2});
//   if (const auto found = checkpoints.resume(state)) {
//     step = found->step;
//     loader.seek(*found->position);
//   }
//
// A folder holds the newest `keep` of them, each a safetensors file whose metadata hold the step, the
// position of the data, further numbers and a checksum of all of it. One run at a time writes to a folder.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tidemark/base/number.h"
#include "tidemark/data/position.h"
#include "tidemark/files/save_load.h"

namespace tidemark {

struct CheckpointFacts {
  std::int64_t step = 0;                        // names the file
  std::optional<data::Position> position = {};  // of the loader
  std::map<std::string, Number> numbers = {};   // what else the run needs to know, exactly
};

struct ResumedTraining : CheckpointFacts {
  std::string path;
  std::vector<std::string> skipped;  // newer files that are damaged, each with the reason
};

struct TrainingCheckpointOptions {
  int keep = 3;                     // files; older ones are removed after a newer one is whole
  std::string name = "checkpoint";  // they begin with
};

class TrainingCheckpoints {
 public:
  // The folder is made where it is not there. Throws Error `bad_file` where it cannot be, `bad_attribute` for
  // options that mean nothing.
  explicit TrainingCheckpoints(std::string folder, TrainingCheckpointOptions options = {},
                               SourceLine where = std::source_location::current());

  // Parameters, moments, keys: any tree. When it returns, the file is on the disk.
  template <class Tree>
  void save(const Tree& state, const CheckpointFacts& facts,
            SourceLine where = std::source_location::current()) const {
    save_state(named_tensors(state), facts, where);
  }

  // Loads the newest that is whole. None: there is no checkpoint. Throws Error `no_checkpoint` where there
  // are files and all are damaged, `tensors_differ` where the newest is of another tree.
  template <class Tree>
  std::optional<ResumedTraining> resume(Tree& state,
                                        SourceLine where = std::source_location::current()) const {
    return load_state(tensor_slots(state), where);
  }
  // The same without loading it.
  std::optional<ResumedTraining> latest(SourceLine where = std::source_location::current()) const;

  const std::string& folder() const { return folder_; }
  std::string path_of(std::int64_t step) const;

 private:
  void save_state(const std::vector<NamedTensor>& tensors, const CheckpointFacts& facts,
                  SourceLine where) const;
  std::optional<ResumedTraining> load_state(const std::vector<TensorSlot>& slots, SourceLine where) const;
  std::vector<std::int64_t> steps() const;  // newest first
  std::string file_name(std::int64_t step) const;
  void rotate(std::int64_t saved) const;

  std::string folder_;
  TrainingCheckpointOptions options_;
};

}  // namespace tidemark
