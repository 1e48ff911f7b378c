// Which C++ variable a tensor is. A compiled function reads what it captures at every call, as if it ran
// again; so its trace must know from which variables it read, through any number of copies.
//
//   Tensor scale = …;                      a variable: an object with an address and a lifetime
//   compile([&](Tensor x) {
//     Tensor s = scale;                    a copy made while tracing: its origin is scale
//     return x * s;                        captures scale
//   });
//
// Assigning to a variable leaves it the same variable. Moving from one does, too: it is the address that the
// function reads again. Outside of traces nothing is watched and copies cost what they did.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

namespace tidemark {

class Tensor;

// The serial number of the outermost trace that is active on this thread; 0: operations run at once.
constinit inline thread_local std::uint64_t outermost_trace = 0;

// Says whether a variable still exists. Shared by the variable and all who watch it.
class Watch {
 public:
  explicit Watch(const Tensor* variable) : variable_(variable) {}
  const Tensor* variable() const { return variable_.load(std::memory_order_acquire); }  // null: gone
  void end() { variable_.store(nullptr, std::memory_order_release); }

 private:
  std::atomic<const Tensor*> variable_;
};

// Values of a tensor that C++ code read while it was traced: the graph may depend on them.
struct ValueRead {
  std::shared_ptr<Watch> variable;
  std::uint64_t storage;  // its id
  std::uint32_t version;
};

// What makes a Tensor a variable: its base.
class Variable {
 public:
  // From now on it tells when it ceases to exist. Threads that share a const tensor may all ask.
  std::shared_ptr<Watch> watch() const;
  // In a trace: the variable that the value was read from, this one or what it was copied from since the
  // trace began.
  std::shared_ptr<Watch> origin() const;

 protected:
  Variable() = default;
  Variable(const Variable& other) {
    if (outermost_trace != 0) [[unlikely]]
      follow(other);
  }
  Variable(Variable&& other) noexcept {
    if (outermost_trace != 0) [[unlikely]]
      follow(other);
  }
  Variable& operator=(const Variable& other) {
    if (outermost_trace != 0 || origin_) [[unlikely]]
      follow(other);
    return *this;
  }
  Variable& operator=(Variable&& other) noexcept { return *this = static_cast<const Variable&>(other); }
  ~Variable() {
    if (own_.load(std::memory_order_relaxed)) [[unlikely]]
      end();
  }

 private:
  void follow(const Variable& other) noexcept;
  void end();

  mutable std::atomic<std::shared_ptr<Watch>*> own_{nullptr};  // set once, when someone first watches
  std::shared_ptr<Watch> origin_;                              // counts in the trace `origin_trace_` alone
  std::uint64_t origin_trace_ = 0;
};

}  // namespace tidemark
