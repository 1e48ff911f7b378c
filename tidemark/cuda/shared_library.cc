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

std::vector<std::string> toolkit_folders() {
  std::vector<std::string> folders;
  for (const char* variable : {"CUDA_PATH", "CUDA_HOME"}) {
    if (const char* const root = std::getenv(variable); root && *root)
      folders.push_back(std::string(root) + "/lib64");
  }
  folders.emplace_back("/usr/local/cuda/lib64");
  return folders;
}

}  // namespace tidemark::cuda
