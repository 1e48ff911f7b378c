// A directory that is held open. Names are looked up in it and nowhere else, whatever becomes of its path
// meanwhile; no symbolic link within it is ever followed, and what is made in it is this user's alone
// (directories 0700, files 0600).
//
// Calls that return a handle leave it empty, and calls that return an int give errno, when they fail: what
// that means to the user is for the caller to say.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tidemark/base/file_handle.h"
#include "tidemark/base/result.h"

namespace tidemark {

class Folder {
 public:
  // A directory that the user names, links to it included; else the reason.
  static Result<Folder, std::string> open(const std::string& path);

  // The directory `name` in this one, made if need be. One that is there must be the user's own: a link, or
  // what belongs to another user, is refused with the reason.
  Result<Folder, std::string> make_private(const std::string& name) const;

  const std::string& path() const { return path_; }  // for messages
  bool is_removed() const;                           // it has no name any more: nothing can be made in it
  std::string path_of(const std::string& name) const;

  // A new file in the place of whatever had the name, which is unlinked and not written to. `flags` beside
  // those that say so.
  FileHandle create(const std::string& name, int flags = 0) const;
  // A regular file of one name; a link, a pipe, a device or a file with further names fails.
  FileHandle open_file(const std::string& name, int flags) const;
  FileHandle open_or_create(const std::string& name) const;  // to read and write
  // A file without a name: nobody else can open it, and it is gone with the process, however that ends.
  FileHandle create_unnamed(int flags = 0) const;

  bool holds(const std::string& name) const;  // a link counts, wherever it leads
  int remove(const std::string& name) const;
  int remove_folder(const std::string& name) const;  // an empty one
  int rename(const std::string& from, const std::string& to) const;
  int rename_new(const std::string& from, const std::string& to) const;  // EEXIST where there is a `to`
  int sync() const;                        // names made and removed have reached the disk
  std::vector<std::string> files() const;  // names of regular files, sorted

  int handle() const { return handle_.get(); }

 private:
  Folder(FileHandle handle, std::string path) : handle_(std::move(handle)), path_(std::move(path)) {}
  FileHandle handle_;
  std::string path_;
};

// The whole of it, at `offset`; errno else, and how much was written in `done`.
int write_fully(int file, std::span<const std::byte> bytes, std::uint64_t offset,
                std::size_t* done = nullptr);
// As much as there is up to the size of `bytes`; errno else.
int read_fully(int file, std::span<std::byte> bytes, std::uint64_t offset, std::size_t& done);

bool is_out_of_room(int error);  // of the disk, a quota or a limit on files

// A name that no one can foresee, such as "name-5f3c…", for what is there for a moment.
std::string unforeseen_name(const std::string& stem);

}  // namespace tidemark
