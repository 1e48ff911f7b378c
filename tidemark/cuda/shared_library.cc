#include "tidemark/cuda/shared_library.h"

#include <dlfcn.h>

#include <cstdlib>

namespace tidemark::cuda {

Result<SharedLibrary, std::string> SharedLibrary::open(std::span<const std::string> names,
                                                       std::span<const std::string> folders) {
  std::string reason;
  const auto try_open = [&](const std::string& path) {
    void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle && reason.empty()) {
      const char* const said = ::dlerror();
      reason = said ? said : "the loader does not say why";
    }
    return handle;
  };
  for (const std::string& name : names) {
    if (void* const handle = try_open(name)) return SharedLibrary(handle, name);
  }
  for (const std::string& folder : folders) {
    for (const std::string& name : names) {
      if (void* const handle = try_open(folder + "/" + name)) return SharedLibrary(handle, name);
    }
  }
  const std::string first = names.empty() ? std::string("a library without a name") : names.front();
  if (reason.find("No such file") != std::string::npos) return first + " is not on this machine";
  return first + " cannot be opened: " + reason;
}

void* SharedLibrary::find(const char* symbol) const { return ::dlsym(handle_, symbol); }

namespace {
void add_libraries(std::vector<std::string>& folders, const std::string& root) {
  for (const char* name : {"/lib64", "/lib"}) folders.push_back(root + name);
}
}  // namespace

std::vector<std::string> toolkit_folders() {
  std::vector<std::string> folders;
  for (const char* variable : {"CUDA_PATH", "CUDA_HOME"}) {
    if (const char* const root = std::getenv(variable); root && *root) add_libraries(folders, root);
  }
  add_libraries(folders, "/usr/local/cuda");
  return folders;
}

std::vector<std::string> dnn_folders() {
  std::vector<std::string> folders;
  for (const char* variable : {"TIDEMARK_CUDNN", "CUDNN_PATH"}) {
    if (const char* const root = std::getenv(variable); root && *root) {
      folders.emplace_back(root);
      add_libraries(folders, root);
    }
  }
  for (std::string& folder : toolkit_folders()) folders.push_back(std::move(folder));
  return folders;
}

}  // namespace tidemark::cuda
