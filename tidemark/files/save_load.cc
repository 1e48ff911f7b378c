#include "tidemark/files/save_load.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "tidemark/files/npz.h"
#include "tidemark/files/safetensors.h"

namespace tidemark {
namespace {

std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t most = 4;
  std::vector<std::string> first;
  for (const std::string& name : names) {
    if (first.size() == most) {
      first.emplace_back("…");
      break;
    }
    first.push_back(shown(name));
  }
  return fmt::format("{}", fmt::join(first, ", "));
}

std::string name_in_file(const std::string& name, const LoadOptions& options) {
  const std::string by_pattern = renamed(options.names, name);
  return options.rename ? options.rename(by_pattern) : by_pattern;
}

// Files of whole models put a word before all names, or lack it: "model.", "transformer.".
std::string naming_help(const LoadReport& report) {
  for (const std::string& missing : report.missing) {
    if (&missing - report.missing.data() == 8) break;  // the first ones tell
    for (const std::string& unused : report.unused) {
      if (unused.ends_with("." + missing)) {
        return fmt::format("the file has `{}`: load it with .names = {{{{\"*\", \"{}*\"}}}}", shown(unused),
                           shown(unused.substr(0, unused.size() - missing.size())));
      }
      if (missing.ends_with("." + unused)) {
        return fmt::format("the file has `{}`: load it with .names = {{{{\"{}*\", \"*\"}}}}", shown(unused),
                           shown(missing.substr(0, missing.size() - unused.size())));
      }
    }
  }
  return "give other names with `.names` or `.rename`, or load what there is with `.strict = false`";
}

void require_all(const TensorArchive& archive, const LoadReport& report, SourceLine where) {
  if (report.missing.empty() && report.unused.empty()) return;
  std::vector<std::string> notes;
  if (!report.missing.empty())
    notes.push_back(
        fmt::format("{} missing in the file: {}", report.missing.size(), some_of(report.missing)));
  if (!report.unused.empty())
    notes.push_back(fmt::format("{} only in the file: {}", report.unused.size(), some_of(report.unused)));
  fail(ErrorCode::tensors_differ,
       {.what = fmt::format("{}: the file holds other tensors than the tree", archive.name()),
        .expected = "the same names in both",
        .where = where,
        .help = naming_help(report),
        .notes = std::move(notes)});
}

// A pattern without a match is a mistake in writing: it would load nothing, and say nothing.
void require_matches(const std::vector<std::string>& only, const std::vector<TensorSlot>& slots,
                     SourceLine where) {
  for (const std::string& pattern : only) {
    const auto is_meant = [&](const TensorSlot& slot) { return matches_name(pattern, slot.name); };
    if (std::ranges::any_of(slots, is_meant)) continue;
    std::vector<std::string> names;
    for (const TensorSlot& slot : slots) names.push_back(slot.name);
    fail(ErrorCode::bad_attribute,
         {.what = fmt::format("the pattern `{}` of .only matches no tensor of the tree", shown(pattern)),
          .expected = "one that matches some of " + some_of(names),
          .where = where,
          .help = "`*` stands for any text, `?` for one character; names are the paths of TM_FIELDS"});
  }
}

// The dtype to load as.
DType wanted_dtype(const TensorArchive& archive, const StoredTensor& stored, const TensorSlot& slot,
                   const LoadOptions& options, SourceLine where) {
  const Type type = archive.type_of(stored);
  if (slot.tensor->empty()) return type.dtype;
  const Type& wanted = slot.tensor->type();
  const std::string as =
      stored.name == slot.name ? "" : fmt::format(", in the file `{}`", shown(stored.name));
  if (wanted.shape != type.shape) {
    fail(ErrorCode::tensors_differ,
         {.what = fmt::format("{}: `{}` is {} in the tree and {} in the file", archive.name(),
                              shown(slot.name) + as, to_string(wanted), to_string(stored)),
          .expected = "the same shape",
          .where = where,
          .help = fmt::format("to keep what the tree holds there: .skip = {{\"{}\"}}", shown(slot.name))});
  }
  if (wanted.dtype != type.dtype && !(options.convert && is_convertible(stored.element, wanted.dtype))) {
    fail(ErrorCode::tensors_differ,
         {.what = fmt::format("{}: `{}` is {} in the tree and {} in the file", archive.name(),
                              shown(slot.name) + as, to_string(wanted), to_string(stored)),
          .expected = "the same dtype",
          .where = where,
          .help = options.convert ? "floats take any number, integers only integers, bool only bool"
                                  : "to convert what is in the file: .convert = true"});
  }
  return wanted.dtype;
}

std::unique_ptr<TensorArchive> open_archive(const std::string& path, SourceLine where) {
  return at_line(where, [&]() -> std::unique_ptr<TensorArchive> {
    FileBytes file = FileBytes::open(path, where);
    if (path.ends_with(".npz")) return std::make_unique<NpzFile>(std::move(file));
    if (path.ends_with(".npy")) return std::make_unique<NpyFile>(std::move(file));
    return std::make_unique<SafetensorsFile>(std::move(file));
  });
}

}  // namespace

std::string tensor_name(const std::string& path) { return path.empty() ? "tensor" : path; }

std::string to_string(const LoadReport& report) {
  std::string text = fmt::format("{} tensors loaded", report.loaded.size());
  const auto add = [&](const std::vector<std::string>& names, std::string_view what) {
    if (!names.empty()) text += fmt::format(", {} {} ({})", names.size(), what, some_of(names));
  };
  add(report.missing, "missing");
  add(report.skipped, "skipped");
  add(report.converted, "converted");
  add(report.unused, "unused");
  return text;
}

void save_tensors(const std::string& path, const std::vector<NamedTensor>& tensors,
                  const FileMetadata& metadata, SourceLine where) {
  for (const auto& [name, tensor] : tensors) {
    if (tensor.is_data()) continue;
    fail(ErrorCode::traced_value_read,
         {.what = fmt::format("`{}` cannot be saved: it {}", shown(name),
                              tensor.empty() ? "is empty" : "is traced and has no values yet"),
          .expected = "tensors that hold data",
          .where = where});
  }
  const bool npy = path.ends_with(".npy"), npz = path.ends_with(".npz");
  if (npy && tensors.size() != 1) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("{}: {} tensors for one array", path, tensors.size()),
                                    .expected = "a single tensor",
                                    .where = where,
                                    .help = "save them as .npz or .safetensors"});
  }
  if ((npy || npz) && !metadata.empty()) {
    fail(ErrorCode::bad_attribute,
         {.what = fmt::format("{}: metadata, which arrays of NumPy do not have", path),
          .where = where,
          .help = "save as .safetensors"});
  }
  if (npy) return write_npy(path, tensors[0], where);
  if (npz) return write_npz(path, tensors, where);
  write_safetensors(path, tensors, metadata, where);
}

LoadReport load_tensors(const TensorArchive& archive, const std::vector<TensorSlot>& slots,
                        const LoadOptions& options, SourceLine where) {
  return at_line(where, [&] {
    if (options.strict) require_matches(options.only, slots, where);
    LoadReport report{.metadata = archive.metadata()};
    struct Found {
      const TensorSlot* slot;
      const StoredTensor* stored;
    };
    std::vector<Found> found;
    std::set<const StoredTensor*> used;
    for (const TensorSlot& slot : slots) {
      const StoredTensor* const stored = archive.find(name_in_file(slot.name, options));
      if (stored) used.insert(stored);
      const bool wanted = (options.only.empty() || matches_any(options.only, slot.name)) &&
                          !matches_any(options.skip, slot.name);
      if (!wanted) {
        report.skipped.push_back(slot.name);
      } else if (!stored) {
        report.missing.push_back(slot.name);
      } else {
        report.loaded.push_back(slot.name);
        found.push_back({&slot, stored});
      }
    }
    for (const StoredTensor& stored : archive.tensors()) {
      if (!used.contains(&stored)) report.unused.push_back(stored.name);
    }
    if (options.strict) require_all(archive, report, where);

    std::vector<DType> dtypes;  // all are looked at before the first is read
    for (const auto& [slot, stored] : found)
      dtypes.push_back(wanted_dtype(archive, *stored, *slot, options, where));
    std::vector<Tensor> loaded;
    for (std::size_t i = 0; i < found.size(); ++i) {
      loaded.push_back(archive.read(*found[i].stored, dtypes[i], options.map));
      if (archive.type_of(*found[i].stored).dtype != dtypes[i])
        report.converted.push_back(found[i].slot->name);
    }
    for (std::size_t i = 0; i < found.size(); ++i) *found[i].slot->tensor = std::move(loaded[i]);
    return report;
  });
}

LoadReport load_tensors(const std::string& path, const std::vector<TensorSlot>& slots,
                        const LoadOptions& options, SourceLine where) {
  return load_tensors(*open_archive(path, where), slots, options, where);
}

std::map<std::string, Tensor> load(const std::string& path, SourceLine where) {
  return at_line(where, [&] {
    const auto archive = open_archive(path, where);
    std::map<std::string, Tensor> tensors;
    for (const StoredTensor& stored : archive->tensors()) tensors[stored.name] = archive->read(stored);
    return tensors;
  });
}

}  // namespace tidemark
