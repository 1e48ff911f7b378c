// One GPU as this process uses it: the driver's primary context, memory, streams, graphs and kernels, each
// given back by its owner. Included where the toolkit's headers are (TIDEMARK_HAS_CUDA).
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tidemark/base/bytes.h"
#include "tidemark/cuda/devices.h"
#include "tidemark/cuda/driver.h"

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::cuda {

class Context {
 public:
  // Throws DeviceError where there is no such GPU, and says why.
  explicit Context(int number);
  Context(int number, const Driver& driver);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Driver& driver() const { return driver_; }
  const DeviceFacts& facts() const { return facts_; }
  int number() const { return number_; }

  void use() const;                      // by this thread, from now on: before anything else is asked of it
  void use_to_release() const noexcept;  // the same for owners that give things back, on any thread
  void wait() const;                     // until all that any thread asked for is done
  // Throws DeviceError for anything but success: `doing` is what was tried ("a kernel was launched").
  void check(CUresult result, std::string_view doing) const;
  std::string text_of(CUresult result) const;

  CUdeviceptr allocate(std::int64_t bytes) const;
  void release(CUdeviceptr memory) const noexcept;
  std::int64_t free_bytes() const;  // as the driver says

 private:
  const Driver& driver_;
  const int number_;
  DeviceFacts facts_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
};

// Memory of the host that the GPU reaches and copies move at full speed to and from.
class PinnedMemory {
 public:
  PinnedMemory(const Context& context, std::int64_t bytes);
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  const Context& context_;
  const std::int64_t bytes_;
  std::byte* data_ = nullptr;
};

// A point of a stream that others wait for.
class Event {
 public:
  explicit Event(const Context& context);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  CUevent get() const { return event_; }

 private:
  const Context& context_;
  CUevent event_ = nullptr;
};

// Work in the order in which it was put in.
class Stream {
 public:
  explicit Stream(const Context& context);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  CUstream get() const { return stream_; }
  const Context& context() const { return context_; }

  void wait() const;                        // until all of it is done; throws DeviceError for what went wrong
  void record(const Event& event) const;    // it happens when all so far is done
  void wait_for(const Event& event) const;  // what follows begins when it has, as it was last recorded
  void copy(CUdeviceptr to, CUdeviceptr from, std::int64_t bytes) const;
  void clear(CUdeviceptr to, std::int64_t bytes) const;
  void copy_to_host(std::byte* to, CUdeviceptr from, std::int64_t bytes) const;
  void copy_to_device(CUdeviceptr to, const std::byte* from, std::int64_t bytes) const;
  // On a thread of the driver's, which must not be asked for anything by it; nothing is thrown.
  void call(CUhostFn function, void* argument) const;

  // While it is recorded: what the next work follows, instead of all that was put in before it.
  std::vector<CUgraphNode> last_work() const;
  void follow(std::span<const CUgraphNode> work) const;

 private:
  const Context& context_;
  CUstream stream_ = nullptr;
};

// What was put into a stream while it was recorded, ready to be put in again as one piece.
class RecordedGraph {
 public:
  explicit RecordedGraph(const Context& context) : context_(context) {}
  ~RecordedGraph();
  RecordedGraph(const RecordedGraph&) = delete;
  RecordedGraph& operator=(const RecordedGraph&) = delete;

  // Records what `body` puts into the stream instead of doing it. Over an earlier recording of the same
  // shape only addresses change.
  template <class Body>
  void record(const Stream& stream, const Body& body) {
    begin(stream);
    try {
      body();
    } catch (...) {
      give_up(stream);
      throw;
    }
    end(stream);
  }
  bool empty() const { return executable_ == nullptr; }
  void launch(const Stream& stream) const;

 private:
  void begin(const Stream& stream);
  void give_up(const Stream& stream) noexcept;
  void end(const Stream& stream);

  const Context& context_;
  CUgraphExec executable_ = nullptr;
};

// A compiled kernel's code on the GPU.
class LoadedModule {
 public:
  LoadedModule(const Context& context, const std::string& binary);
  ~LoadedModule();
  LoadedModule(const LoadedModule&) = delete;
  LoadedModule& operator=(const LoadedModule&) = delete;
  CUfunction function(const std::string& name) const;

 private:
  const Context& context_;
  CUmodule module_ = nullptr;
};

}  // namespace tidemark::cuda

#endif
