#include "tidemark/cuda/compiler.h"

#include <fmt/format.h>

#include <vector>

#include "tidemark/base/error.h"
#include "tidemark/cuda/device_texts.h"
#include "tidemark/cuda/shared_library.h"

#ifdef TIDEMARK_HAS_CUDA
#include <nvrtc.h>
#endif

namespace tidemark::cuda {
namespace {

constexpr const char* options[] = {"--std=c++20",       "--device-as-default-execution-space",
                                   "--fmad=false",      "--ftz=false",
                                   "--prec-div=true",   "--prec-sqrt=true",
                                   "--disable-warnings"};

[[noreturn]] void no_compiler(const std::string& reason) {
  throw DeviceError(ErrorCode::no_kernel,
                    {.what = fmt::format("kernels for CUDA cannot be compiled: {}", reason),
                     .expected = "NVRTC 12.8 or newer, of NVIDIA's CUDA toolkit",
                     .help = "install the toolkit, or set CUDA_PATH to its folder"});
}

#ifdef TIDEMARK_HAS_CUDA

struct Compiler {
  decltype(&::nvrtcVersion) version = nullptr;
  decltype(&::nvrtcGetErrorString) error_text = nullptr;
  decltype(&::nvrtcCreateProgram) create = nullptr;
  decltype(&::nvrtcDestroyProgram) destroy = nullptr;
  decltype(&::nvrtcCompileProgram) compile = nullptr;
  decltype(&::nvrtcGetProgramLogSize) log_size = nullptr;
  decltype(&::nvrtcGetProgramLog) log = nullptr;
  decltype(&::nvrtcGetCUBINSize) binary_size = nullptr;
  decltype(&::nvrtcGetCUBIN) binary = nullptr;
  CompilerVersion number;
};

Result<Compiler, std::string> open_compiler() {
  const std::string names[] = {"libnvrtc.so.13", "libnvrtc.so.12"};
  const std::vector<std::string> folders = toolkit_folders();
  const Result<SharedLibrary, std::string> library = SharedLibrary::open(names, folders);
  if (!library) return library.error() + ": it comes with NVIDIA's CUDA toolkit";
  Compiler compiler;
  std::string missing;
  const auto find = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(library.value().find(symbol));
    if (!function && missing.empty()) missing = symbol;
  };
  find(compiler.version, "nvrtcVersion");
  find(compiler.error_text, "nvrtcGetErrorString");
  find(compiler.create, "nvrtcCreateProgram");
  find(compiler.destroy, "nvrtcDestroyProgram");
  find(compiler.compile, "nvrtcCompileProgram");
  find(compiler.log_size, "nvrtcGetProgramLogSize");
  find(compiler.log, "nvrtcGetProgramLog");
  find(compiler.binary_size, "nvrtcGetCUBINSize");
  find(compiler.binary, "nvrtcGetCUBIN");
  if (!missing.empty()) return library.value().name() + " has no " + missing;
  if (compiler.version(&compiler.number.major, &compiler.number.minor) != NVRTC_SUCCESS)
    return library.value().name() + " does not tell its version";
  return compiler;
}

const Result<Compiler, std::string>& compiler() {
  static const auto* const opened = new Result<Compiler, std::string>(open_compiler());
  return *opened;
}

class Program {
 public:
  Program(const Compiler& compiler, const std::string& source) : compiler_(compiler) {
    std::vector<const char*> names, texts;
    for (const DeviceText& text : device_texts()) names.push_back(text.name), texts.push_back(text.text);
    require(compiler.create(&program_, source.c_str(), "group.cu", static_cast<int>(names.size()),
                            texts.data(), names.data()),
            "made ready");
  }
  ~Program() { compiler_.destroy(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  nvrtcResult compile(const std::string& architecture) {
    std::vector<const char*> list(std::begin(options), std::end(options));
    list.push_back(architecture.c_str());
    return compiler_.compile(program_, static_cast<int>(list.size()), list.data());
  }
  std::string log() const {
    std::size_t size = 0;
    if (compiler_.log_size(program_, &size) != NVRTC_SUCCESS) return {};
    std::string text(size, '\0');
    if (compiler_.log(program_, text.data()) != NVRTC_SUCCESS) return {};
    return text.c_str();
  }
  void require(nvrtcResult result, std::string_view done) const {
    if (result == NVRTC_SUCCESS) return;
    throw DeviceError(ErrorCode::no_kernel,
                      {.what = fmt::format("a kernel for CUDA cannot be {}: NVRTC says {}", done,
                                           compiler_.error_text(result))});
  }
  std::string binary() const {
    std::size_t size = 0;
    require(compiler_.binary_size(program_, &size), "read");
    std::string bytes(size, '\0');
    require(compiler_.binary(program_, bytes.data()), "read");
    return bytes;
  }

 private:
  const Compiler& compiler_;
  nvrtcProgram program_ = nullptr;
};

#endif

}  // namespace

std::string compile_options() {
  std::string text;
  for (const char* option : options) text += fmt::format("{}{}", text.empty() ? "" : " ", option);
  return text;
}

std::string compile_target(const Architecture& architecture) {
  return name_of(architecture) + (has_warpgroups(architecture) ? "a" : "");
}

#ifdef TIDEMARK_HAS_CUDA

Result<CompilerVersion, std::string> compiler_version() {
  if (!compiler()) return compiler().error();
  return compiler().value().number;
}

std::string compile(const std::string& source, const Architecture& architecture) {
  if (!compiler()) no_compiler(compiler().error());
  const Compiler& found = compiler().value();
  Program program(found, source);
  const nvrtcResult result = program.compile("--gpu-architecture=" + compile_target(architecture));
  if (result == NVRTC_ERROR_INVALID_OPTION) {
    no_compiler(fmt::format("NVRTC {}.{} does not know {}", found.number.major, found.number.minor,
                            compile_target(architecture)));
  }
  TM_CHECK(result != NVRTC_ERROR_COMPILATION, "NVRTC refuses a generated kernel:\n{}", program.log());
  program.require(result, "compiled");
  return program.binary();
}

#else

namespace {
constexpr const char* built_without =
    "this library was built without CUDA: the toolkit's headers were not there";
}

Result<CompilerVersion, std::string> compiler_version() { return std::string(built_without); }
std::string compile(const std::string&, const Architecture&) { no_compiler(built_without); }

#endif

}  // namespace tidemark::cuda
