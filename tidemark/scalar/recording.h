// What a tape has written down: chunks of statements, the inputs among them, and events, which are
// statements whose reversal is a function.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "tidemark/scalar/adjoints.h"
#include "tidemark/scalar/chunks.h"

namespace tidemark::scalar {

// Where adjoints of an event's operands go.
template <class T>
class AdjointSink {
 public:
  virtual void add(Id operand, const T& amount) = 0;

 protected:
  ~AdjointSink() = default;
};

// A part of a recording that is reversed by a function of its own: a step that runs again, a function from
// elsewhere, a linear system. Its results are statements of their own, called captures, which follow it.
template <class T>
class Event {
 public:
  virtual ~Event() = default;
  // `results`: the adjoints of its results, in their order. Throws what it likes: the reversal ends there.
  virtual void reverse(std::span<const T> results, AdjointSink<T>& operands) = 0;
  virtual std::size_t bytes() const { return sizeof *this; }  // that it holds
};

// A place in a recording: everything before it, nothing behind it.
template <class T>
struct Position {
  std::size_t chunk = 0;
  T* partials = nullptr;
  std::byte* codes = nullptr;
  Id next = 0;
  std::size_t inputs = 0, events = 0;
};

template <class T>
struct Recording {
  struct RecordedEvent {
    std::unique_ptr<Event<T>> event;
    std::size_t results = 0;
  };

  Chunks chunks;
  std::vector<Id> inputs;  // ids, ascending
  std::vector<RecordedEvent> events;
  FarBlocks far;
};

}  // namespace tidemark::scalar
