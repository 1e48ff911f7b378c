#include "tidemark/cuda/dnn_library.h"

#include <type_traits>
#include <vector>

#include "tidemark/cuda/shared_library.h"

#ifdef TIDEMARK_HAS_CUDNN

namespace tidemark::cuda {
namespace {

Result<DnnFunctions, std::string> open_dnn() {
  const std::string names[] = {"libcudnn.so.9"};
  const std::vector<std::string> folders = dnn_folders();
  const Result<SharedLibrary, std::string> library = SharedLibrary::open(names, folders);
  if (!library) return library.error();
  DnnFunctions functions;
  std::string missing;
  const auto find = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(library.value().find(symbol));
    if (!function && missing.empty()) missing = symbol;
  };
#define TM_FIND(name, symbol) find(functions.name, #symbol);
  TM_DNN_FUNCTIONS(TM_FIND)
#undef TM_FIND
  if (!missing.empty()) return library.value().name() + " has no " + missing;
  return functions;
}

}  // namespace

const Result<DnnFunctions, std::string>& dnn_functions() {
  static const auto* const opened = new Result<DnnFunctions, std::string>(open_dnn());
  return *opened;
}

DnnDescription::DnnDescription(const DnnFunctions& functions, cudnnBackendDescriptorType_t type)
    : functions_(&functions) {
  status_ = functions.make(type, &made_);
  if (status_ != CUDNN_STATUS_SUCCESS) made_ = nullptr;
}
DnnDescription::~DnnDescription() {
  if (made_) functions_->drop(made_);
}
DnnDescription& DnnDescription::set(cudnnBackendAttributeName_t which, cudnnBackendAttributeType_t type,
                                    std::int64_t count, const void* values) {
  if (good()) status_ = functions_->set(made_, which, type, count, values);
  return *this;
}
DnnDescription& DnnDescription::finalize() {
  if (good()) status_ = functions_->finalize(made_);
  return *this;
}

}  // namespace tidemark::cuda

#endif
