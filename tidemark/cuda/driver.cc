#include "tidemark/cuda/driver.h"

#include "tidemark/cuda/shared_library.h"

namespace tidemark::cuda {
namespace {

#ifdef TIDEMARK_HAS_CUDA

#define TM_TEXT(x) #x
#define TM_SYMBOL(x) TM_TEXT(x)  // of what the headers make of a name: cuDeviceTotalMem_v2

Result<Driver, std::string> open_driver() {
  const std::string names[] = {"libcuda.so.1"};
  const Result<SharedLibrary, std::string> library = SharedLibrary::open(names);
  if (!library) return library.error() + ": it comes with NVIDIA's driver";
  Driver driver;
  std::string missing;
  const auto find = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(library.value().find(symbol));
    if (!function && missing.empty()) missing = symbol;
  };
#define TM_FIND(name, symbol) find(driver.name, TM_SYMBOL(symbol));
  TM_CUDA_FUNCTIONS(TM_FIND)
#undef TM_FIND
  if (!missing.empty()) return library.value().name() + " has no " + missing + ": NVIDIA's driver is too old";
  return driver;
}

#undef TM_SYMBOL
#undef TM_TEXT

#else

Result<Driver, std::string> open_driver() {
  return std::string("this library was built without CUDA: the toolkit's headers were not there");
}

#endif

}  // namespace

const Result<Driver, std::string>& driver() {
  static const auto* const opened = new Result<Driver, std::string>(open_driver());
  return *opened;
}

}  // namespace tidemark::cuda
