// Compiled kernels, kept in a folder: by a hash of all that decides their code (source, included texts,
// architecture, options, compiler), so that an entry is right for ever and a new version of anything makes a
// new one. A cache never makes a run fail: an entry that is damaged is compiled again and replaced, and where
// nothing can be written kernels are compiled in every process. Where entries take more than a limit, those
// go that were used longest ago.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "tidemark/base/bytes.h"
#include "tidemark/base/folder.h"
#include "tidemark/cuda/compiler.h"

namespace tidemark::cuda {

class KernelCache {
 public:
  // TIDEMARK_CUDA_CACHE, a folder ("" keeps nothing on disk); else tidemark/cuda in the user's folder for
  // caches (XDG_CACHE_HOME, or .cache at HOME).
  static std::string default_folder();
  // TIDEMARK_CUDA_CACHE_LIMIT ("2GiB"; "0" keeps no kernel for long), else 1 GiB. What is no number of bytes
  // counts as not given.
  static Bytes default_limit();

  using Compile = std::function<std::string(const std::string& source, const Architecture& architecture)>;

  // Makes the folder, and those above it, where they are missing. "": nothing is kept on disk. `compile`:
  // any thread may call it.
  explicit KernelCache(const std::string& folder = default_folder(), Compile compile = cuda::compile,
                       Bytes limit = default_limit());
  KernelCache(const KernelCache&) = delete;
  KernelCache& operator=(const KernelCache&) = delete;

  // What `compile` gives, from memory or disk where it is known. Any thread may ask.
  std::shared_ptr<const std::string> find_or_compile(const std::string& source,
                                                     const Architecture& architecture);

  struct Counts {
    int compiled = 0, from_disk = 0, from_memory = 0;
    int damaged = 0;    // entries that were not what was written
    int unwritten = 0;  // kernels that could not be kept
    int removed = 0;    // entries that went to make room
  };
  Counts counts() const;
  std::string problem() const;  // why the last kernel was not kept; empty: all were

 private:
  using Key = std::pair<std::uint64_t, std::uint64_t>;

  static Key key_of(const std::string& source, const Architecture& architecture);
  static std::string name_of_entry(const Key& key);
  std::optional<std::string> read(const Key& key);
  void write(const Key& key, const std::string& binary);
  // Removes those that were used longest ago until all of them fit, but for the one that was just written.
  void make_room(const std::string& written);

  const Compile compile_;
  const Bytes limit_;         // of all entries on disk
  mutable std::mutex mutex_;  // of all that follows
  std::optional<Folder> folder_;
  bool kept_on_disk_ = false;
  std::map<Key, std::shared_ptr<const std::string>> known_;
  Counts counts_;
  std::string problem_;
};

}  // namespace tidemark::cuda
