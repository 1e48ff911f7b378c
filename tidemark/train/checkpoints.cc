#include "tidemark/train/checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "tidemark/base/folder.h"
#include "tidemark/files/safetensors.h"
#include "tidemark/trace/storage.h"
#include "tidemark/train/checkpoint_facts.h"

namespace tidemark {
namespace {

constexpr std::string_view suffix = ".safetensors", unfinished = ".tidemark-";  // as OutputFile names them

Folder opened(const std::string& path, SourceLine where) {
  auto folder = Folder::open(path);
  if (!folder) {
    fail(ErrorCode::bad_file, {.what = fmt::format("checkpoints: {}", folder.error()), .where = where});
  }
  return std::move(folder).value();
}

std::string checksum_in(const SafetensorsFile& file) {
  return checksum_of(file.metadata(), file.tensors(),
                     [&](const StoredTensor& stored, std::uint64_t offset, std::span<std::byte> to) {
                       file.bytes().read(to, file.data_begin() + stored.begin + offset);
                     });
}

// Throws Error for a file that is not whole.
CheckpointFacts verified_facts(const SafetensorsFile& file) {
  CheckpointFacts facts = read_checkpoint_facts(file.metadata(), file.name());
  const auto sum = file.metadata().find(std::string(checksum_key));
  if (sum == file.metadata().end() || sum->second != checksum_in(file))
    refuse_file(file.name(), "it is damaged: its checksum does not hold");
  return facts;
}

}  // namespace

TrainingCheckpoints::TrainingCheckpoints(std::string folder, TrainingCheckpointOptions options,
                                         SourceLine where)
    : folder_(std::move(folder)), options_(std::move(options)) {
  if (options_.keep < 1 || options_.name.empty() || options_.name.front() == '.' ||
      options_.name.find('/') != std::string::npos) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("checkpoints named `{}`, of which {} are kept",
                                                        shown(options_.name), options_.keep),
                                    .expected = "the beginning of a file's name, and 1 or more",
                                    .where = where});
  }
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) {
    fail(ErrorCode::bad_file,
         {.what = fmt::format("checkpoints: the folder {} cannot be made: {}", folder_, error.message()),
          .where = where});
  }
  opened(folder_, where);
}

std::string TrainingCheckpoints::file_name(std::int64_t step) const {
  return fmt::format("{}-{:012}{}", options_.name, step, suffix);
}
std::string TrainingCheckpoints::path_of(std::int64_t step) const { return folder_ + "/" + file_name(step); }

std::vector<std::int64_t> TrainingCheckpoints::steps() const {
  std::vector<std::int64_t> found;
  for (const std::string& name : opened(folder_, {}).files()) {
    std::int64_t step = -1;
    const std::size_t begin = options_.name.size() + 1;
    if (name.size() < begin) continue;
    std::from_chars(name.data() + begin, name.data() + name.size(), step);
    if (step >= 0 && name == file_name(step)) found.push_back(step);
  }
  std::ranges::sort(found, std::greater());
  return found;
}

void TrainingCheckpoints::save_state(const std::vector<NamedTensor>& tensors, const CheckpointFacts& facts,
                                     SourceLine where) const {
  if (facts.step < 0) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("a checkpoint of step {}", facts.step),
                                    .expected = "0 or more",
                                    .where = where});
  }
  for (const auto& [name, tensor] : tensors) {
    if (tensor.is_data()) continue;
    fail(ErrorCode::traced_value_read,
         {.what = fmt::format("`{}` cannot be saved: it holds no data", shown(name)),
          .expected = "tensors that hold data",
          .where = where});
  }
  at_line(where, [&] {
    const Folder folder = opened(folder_, where);
    for (const std::string& name : folder.files()) {  // of a run that was killed
      if (name.starts_with(unfinished)) folder.remove(name);
    }
    std::map<std::string_view, const Tensor*> by_name;
    for (const auto& [name, tensor] : tensors) by_name.emplace(name, &tensor);
    FileMetadata metadata = checkpoint_metadata(facts);
    metadata[std::string(checksum_key)] =
        checksum_of(metadata, safetensors_layout(tensors),
                    [&](const StoredTensor& stored, std::uint64_t offset, std::span<std::byte> to) {
                      const Reading reading = by_name.at(stored.name)->read(where);
                      std::memcpy(to.data(), reading.data() + offset, to.size());
                    });
    write_safetensors(path_of(facts.step), tensors, metadata, where);
    rotate(facts.step);
  });
}

// Files of later steps are of a run that went another way, and are not counted.
void TrainingCheckpoints::rotate(std::int64_t saved) const {
  const Folder folder = opened(folder_, {});
  int kept = 0;
  for (const std::int64_t step : steps()) {
    if (step <= saved && ++kept > options_.keep) folder.remove(file_name(step));
  }
}

std::optional<ResumedTraining> TrainingCheckpoints::latest(SourceLine where) const {
  ResumedTraining found;
  for (const std::int64_t step : steps()) {
    const std::string path = path_of(step);
    try {
      static_cast<CheckpointFacts&>(found) = verified_facts(SafetensorsFile::open(path, where));
      found.path = path;
      return found;
    } catch (const Error& error) {
      found.skipped.push_back(error.parts().what);
    }
  }
  if (found.skipped.empty()) return {};
  fail(ErrorCode::no_checkpoint,
       {.what = fmt::format("{}: none of the {} checkpoints is whole", folder_, found.skipped.size()),
        .where = where,
        .help = "remove them to begin anew, or bring back a copy of one",
        .notes = found.skipped});
}

std::optional<ResumedTraining> TrainingCheckpoints::load_state(const std::vector<TensorSlot>& slots,
                                                               SourceLine where) const {
  std::optional<ResumedTraining> found = latest(where);
  if (!found) return found;
  try {
    load_tensors(found->path, slots, {}, where);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::tensors_differ) throw;
    ErrorParts parts = error.parts();  // its help speaks of options that only load has
    parts.help = fmt::format(
        "resume with the tree that was saved (the same model, optimizer and dtypes), begin in another "
        "folder, or take what fits: td::load(\"{}\", state, {{.strict = false, .convert = true}})",
        found->path);
    fail(error.code(), std::move(parts));
  }
  return found;
}

}  // namespace tidemark
