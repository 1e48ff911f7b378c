// A library that is opened while the program runs, so that one binary serves machines with and without it.
// Once opened it stays: drivers and compilers keep threads and state of their own.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "tidemark/base/result.h"

namespace tidemark::cuda {

class SharedLibrary {
 public:
  // The first of `names` that can be opened, as the loader finds it, then in each of `folders`; else why the
  // first cannot.
  static Result<SharedLibrary, std::string> open(std::span<const std::string> names,
                                                 std::span<const std::string> folders = {});

  const std::string& name() const { return name_; }
  void* find(const char* symbol) const;  // nullptr: it has none

 private:
  SharedLibrary(void* handle, std::string name) : handle_(handle), name_(std::move(name)) {}
  void* handle_;
  std::string name_;
};

// The folders of NVIDIA's toolkit, for machines whose loader does not know them.
std::vector<std::string> toolkit_folders();
// Those of cuDNN, which is often installed apart: TIDEMARK_CUDNN or CUDNN_PATH, then the toolkit's.
std::vector<std::string> dnn_folders();

}  // namespace tidemark::cuda
