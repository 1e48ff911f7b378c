// What a tape has written down: chunks of statements, the inputs among them, and events, which are
// statements whose reversal is a function.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "tidemark/scalar/adjoints.h"
#include "tidemark/scalar/chunks.h"

namespace tidemark::scalars {

// Where adjoints of an event's operands go.
template <class T>
class AdjointSink {
 public:
  virtual void add(Id operand, const T& amount) = 0;

 protected:
  ~AdjointSink() = default;
};

// A part of a recording that is reversed by a function of its own: a step that runs again, a function from
// elsewhere, a linear system. Its results are statements of their own, which follow it and take no memory.
template <class T>
class Event {
 public:
  virtual ~Event() = default;
  // `results`: the adjoints of its results, in their order. Throws what it likes: the reversal ends there.
  virtual void reverse(std::span<const T> results, AdjointSink<T>& operands) = 0;
  virtual std::size_t bytes() const { return sizeof *this; }  // that it holds, always as many
};

// A place in a recording: everything before it, nothing behind it.
template <class T>
struct Position {
  std::size_t chunk = 0;
  T* partials = nullptr;
  std::byte* codes = nullptr;
  Id next = 0;
  Id cursor = 0;  // to a reader (forms.h)
  std::size_t inputs = 0, events = 0;
  const void* of = nullptr;  // the recording
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
  std::size_t event_bytes = 0;
  FarBlocks far;
  const Forms* forms = nullptr;  // the tape's

  void add_event(std::unique_ptr<Event<T>> event, std::size_t results) {
    const std::size_t bytes = event->bytes();
    events.push_back({std::move(event), results});
    event_bytes += bytes;
  }
  // Forgets those behind the first `count`.
  void drop_events(std::size_t count) {
    while (events.size() > count) {
      event_bytes -= events.back().event->bytes();
      events.pop_back();
    }
  }
  std::size_t bytes() const {
    return chunks.bytes() + far.bytes() + inputs.capacity() * sizeof(Id) +
           events.capacity() * sizeof(RecordedEvent) + event_bytes;
  }
};

}  // namespace tidemark::scalars
