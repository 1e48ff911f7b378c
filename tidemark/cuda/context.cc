#include "tidemark/cuda/context.h"

#include <fmt/format.h>

#include "tidemark/base/error.h"

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::cuda {
namespace {

[[noreturn]] void no_device(int number, const std::string& reason) {
  throw DeviceError(ErrorCode::no_device,
                    {.what = fmt::format("there is no CUDA device {}: {}", number, reason),
                     .expected = "a GPU of NVIDIA's, and its driver",
                     .help = "`tidemark machine --devices` lists those of this machine"});
}

const Driver& opened_driver(int number) {
  const Result<Driver, std::string>& opened = cuda::driver();
  if (!opened) no_device(number, opened.error());
  return opened.value();
}

}  // namespace

Context::Context(int number) : Context(number, opened_driver(number)) {}

Context::Context(int number, const Driver& driver) : driver_(driver), number_(number) {
  const DeviceList list = devices(driver);
  if (number < 0 || number >= std::ssize(list.devices)) {
    no_device(number,
              list.devices.empty() ? list.reason : fmt::format("there are {} of them", list.devices.size()));
  }
  facts_ = list.devices[static_cast<std::size_t>(number)];
  check(driver.device(&device_, number), "a device was looked up");
  check(driver.context_retain(&context_, device_), "a context was made");
}

Context::~Context() { driver_.context_release(device_); }

void Context::use() const { check(driver_.context_use(context_), "a context was chosen"); }

void Context::use_to_release() const noexcept { driver_.context_use(context_); }

void Context::wait() const { check(driver_.context_wait(), "it computed"); }

std::string Context::text_of(CUresult result) const {
  const char *name = nullptr, *text = nullptr;
  if (driver_.error_name(result, &name) != CUDA_SUCCESS || !name)
    return fmt::format("error {}", static_cast<int>(result));
  if (driver_.error_text(result, &text) != CUDA_SUCCESS || !text) return name;
  return fmt::format("{} ({})", name, text);
}

void Context::check(CUresult result, std::string_view doing) const {
  if (result == CUDA_SUCCESS) return;
  throw DeviceError(ErrorCode::device_failure,
                    {.what = fmt::format("{} failed when {}: {}", facts_.name.empty() ? "CUDA" : facts_.name,
                                         doing, text_of(result))});
}

CUdeviceptr Context::allocate(std::int64_t bytes) const {
  CUdeviceptr memory = 0;
  const CUresult result = driver_.allocate(&memory, static_cast<std::size_t>(bytes));
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    throw DeviceError(ErrorCode::out_of_memory,
                      {.what = fmt::format("{} has no {} left", facts_.name, to_string(Bytes(bytes))),
                       .expected = fmt::format("at most the {} that are free of {}",
                                               to_string(Bytes(free_bytes())), to_string(facts_.memory)),
                       .help = "give the function a smaller budget, or end what else uses the GPU"});
  }
  check(result, "memory was allocated");
  return memory;
}

void Context::release(CUdeviceptr memory) const noexcept {
  use_to_release();
  driver_.release(memory);
}

std::int64_t Context::free_bytes() const {
  std::size_t left = 0, all = 0;
  check(driver_.memory_info(&left, &all), "free memory was asked for");
  return static_cast<std::int64_t>(left);
}

PinnedMemory::PinnedMemory(const Context& context, std::int64_t bytes) : context_(context), bytes_(bytes) {
  if (bytes == 0) return;
  void* memory = nullptr;
  const CUresult result = context.driver().allocate_host(
      &memory, static_cast<std::size_t>(bytes), CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    throw DeviceError(ErrorCode::out_of_memory,
                      {.what = fmt::format("the host has no {} of memory that a GPU can copy from",
                                           to_string(Bytes(bytes)))});
  }
  context.check(result, "memory of the host was allocated");
  data_ = static_cast<std::byte*>(memory);
}

PinnedMemory::~PinnedMemory() {
  if (!data_) return;
  context_.use_to_release();
  context_.driver().release_host(data_);
}

Event::Event(const Context& context) : context_(context) {
  context.check(context.driver().event_create(&event_, CU_EVENT_DISABLE_TIMING), "an event was made");
}

Event::~Event() { context_.driver().event_destroy(event_); }

Stream::Stream(const Context& context) : context_(context) {
  context.check(context.driver().stream_create(&stream_, CU_STREAM_NON_BLOCKING), "a stream was made");
}

Stream::~Stream() { context_.driver().stream_destroy(stream_); }

void Stream::wait() const { context_.check(context_.driver().stream_wait(stream_), "it computed"); }

void Stream::record(const Event& event) const {
  context_.check(context_.driver().event_record(event.get(), stream_), "an event was put in");
}

void Stream::wait_for(const Event& event) const {
  context_.check(context_.driver().stream_wait_event(stream_, event.get(), 0), "a wait was put in");
}

void Stream::copy(CUdeviceptr to, CUdeviceptr from, std::int64_t bytes) const {
  if (bytes == 0 || to == from) return;
  context_.check(context_.driver().copy(to, from, static_cast<std::size_t>(bytes), stream_),
                 "a copy was begun");
}

void Stream::clear(CUdeviceptr to, std::int64_t bytes) const {
  if (bytes == 0) return;
  context_.check(context_.driver().clear(to, 0, static_cast<std::size_t>(bytes), stream_),
                 "memory was cleared");
}

void Stream::copy_to_host(std::byte* to, CUdeviceptr from, std::int64_t bytes) const {
  if (bytes == 0) return;
  context_.check(context_.driver().copy_to_host(to, from, static_cast<std::size_t>(bytes), stream_),
                 "a copy to the host was begun");
}

void Stream::copy_to_device(CUdeviceptr to, const std::byte* from, std::int64_t bytes) const {
  if (bytes == 0) return;
  context_.check(context_.driver().copy_to_device(to, from, static_cast<std::size_t>(bytes), stream_),
                 "a copy from the host was begun");
}

void Stream::call(CUhostFn function, void* argument) const {
  context_.check(context_.driver().launch_host(stream_, function, argument),
                 "a function of the host was put in");
}

std::vector<CUgraphNode> Stream::last_work() const {
  CUstreamCaptureStatus status = {};
  const CUgraphNode* nodes = nullptr;
  std::size_t count = 0;
  context_.check(context_.driver().capture_info(stream_, &status, nullptr, nullptr, &nodes, nullptr, &count),
                 "a recording was asked for its end");
  return {nodes, nodes + count};
}

void Stream::follow(std::span<const CUgraphNode> work) const {
  std::vector<CUgraphNode> nodes(work.begin(), work.end());
  context_.check(context_.driver().capture_follow(stream_, nodes.data(), nullptr, nodes.size(),
                                                  CU_STREAM_SET_CAPTURE_DEPENDENCIES),
                 "the order of a recording was set");
}

RecordedGraph::~RecordedGraph() {
  if (executable_) context_.driver().executable_destroy(executable_);
}

void RecordedGraph::begin(const Stream& stream) {
  context_.check(context_.driver().capture_begin(stream.get(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                 "a recording was begun");
}

void RecordedGraph::give_up(const Stream& stream) noexcept {
  CUgraph graph = nullptr;
  context_.driver().capture_end(stream.get(), &graph);
  if (graph) context_.driver().graph_destroy(graph);
}

void RecordedGraph::end(const Stream& stream) {
  const Driver& driver = context_.driver();
  CUgraph graph = nullptr;
  context_.check(driver.capture_end(stream.get(), &graph), "a recording was ended");
  const std::unique_ptr<CUgraph_st, decltype(driver.graph_destroy)> owner(graph, driver.graph_destroy);
  CUgraphExecUpdateResultInfo info = {};
  if (executable_ && driver.graph_update(executable_, graph, &info) == CUDA_SUCCESS) return;
  if (executable_) driver.executable_destroy(executable_);
  executable_ = nullptr;
  context_.check(driver.graph_instantiate(&executable_, graph, 0), "a recording was made ready");
}

void RecordedGraph::launch(const Stream& stream) const {
  context_.check(context_.driver().graph_launch(executable_, stream.get()), "a recording was run");
}

LoadedModule::LoadedModule(const Context& context, const std::string& binary) : context_(context) {
  context.check(context.driver().module_load(&module_, binary.data()), "a kernel was loaded");
}

LoadedModule::~LoadedModule() {
  if (module_) context_.driver().module_unload(module_);
}

CUfunction LoadedModule::function(const std::string& name) const {
  CUfunction function = nullptr;
  context_.check(context_.driver().module_function(&function, module_, name.c_str()),
                 "a kernel was looked up");
  return function;
}

}  // namespace tidemark::cuda

#endif
