// A run that was interrupted, and what becomes of it when its files are changed: the fuzz targets of journals
// and snapshots edit a journal with checksums that hold, or the files beside it, and go on. The gradient is
// right, or there is an Error.
//
// An input is a list of edits of twelve bytes each: what to edit, how, where, and a value.
#pragma once
#include <sstream>

#include "tests/support/crafted_journals.h"
#include "tidemark/base/check.h"
#include "tidemark/schedule/run.h"

namespace tidemark::schedule::testing {

struct Edit {
  std::uint8_t target = 0, kind = 0;
  std::uint16_t at = 0;
  std::uint64_t value = 0;
};

inline std::vector<Edit> edits_of(const std::uint8_t* data, std::size_t size) {
  std::vector<Edit> edits;
  for (; size >= 12 && edits.size() < 8; data += 12, size -= 12) {
    Edit edit{data[0], data[1], 0, 0};
    std::memcpy(&edit.at, data + 2, 2);
    std::memcpy(&edit.value, data + 4, 8);
    edits.push_back(edit);
  }
  return edits;
}

// Changes bytes in one of a few ways; those of a journal's record stay a record.
inline void apply(const Edit& edit, std::string& bytes) {
  const std::size_t at = bytes.empty() ? 0 : edit.at % bytes.size();
  switch (edit.kind % 6) {
    case 0:  // a word
      if (bytes.size() >= 8) std::memcpy(bytes.data() + at / 8 * 8 % (bytes.size() - 7), &edit.value, 8);
      break;
    case 1:  // a small change to a word
      if (bytes.size() >= 8) {
        std::uint64_t word = 0;
        const std::size_t place = at / 8 * 8 % (bytes.size() - 7);
        std::memcpy(&word, bytes.data() + place, 8);
        word += static_cast<std::uint64_t>(static_cast<std::int8_t>(edit.value));
        std::memcpy(bytes.data() + place, &word, 8);
      }
      break;
    case 2:
      if (!bytes.empty()) bytes[at] = static_cast<char>(edit.value);
      break;
    case 3:
      bytes.resize(at);
      break;
    case 4:
      bytes.append(edit.at % 64, static_cast<char>(edit.value));
      break;
    default:  // a number in text
      const std::size_t begin = bytes.find_first_of("0123456789", at);
      if (begin == std::string::npos) break;
      const std::size_t end = std::min(bytes.find_first_not_of("0123456789", begin), bytes.size());
      bytes.replace(begin, end - begin, std::to_string(static_cast<std::int64_t>(edit.value)));
  }
}

// A step that throws instead of dying, so that the run is left as a killed one is, in this process.
struct ThrowingRing : Ring {
  std::int64_t calls_left = -1, calls = 0;
  void live() {
    ++calls;
    if (calls_left >= 0 && calls_left-- == 0) throw std::runtime_error("interrupted");
  }
  void advance(State& x, Steps range, StepLog& log) {
    for (Step i = range.begin; i < range.end; ++i) {
      live();
      x[0] *= log.once(i, [] { return 1.0; });
      Ring::advance(x, {i, i + 1});
    }
  }
  State record(State& x, Step i, StepLog& log) {
    x[0] *= log.once(i, [] { return 1.0; });
    return Ring::record(x, i);
  }
  void reverse(const State& x, Adjoint& a, Step i) {
    live();
    Ring::reverse(x, a, i);
  }
};

class CraftedRun {
 public:
  static constexpr Step steps = 24;

  // Interrupted after a share of its calls.
  explicit CraftedRun(double share) {
    ThrowingRing whole, ring;
    go(whole);
    ring.calls_left = static_cast<std::int64_t>(share * static_cast<double>(whole.calls));
    try {
      go(ring);
    } catch (const std::runtime_error&) {
    }
    folder_.emplace(scratch_.path() + "/tidemark-run");
    TM_CHECK(!folder_->bytes("journal").empty(), "the run left no journal behind");
  }
  const FolderCopy& folder() const { return *folder_; }

  // Goes on after `change` was made to the files as they were left. Throws InternalError for a wrong
  // gradient.
  void go_on_after(const std::function<void()>& change) const {
    folder_->restore();
    change();
    try {
      ThrowingRing ring;
      TM_CHECK(go(ring) == expected_, "a wrong gradient");
    } catch (const Error&) {
    }
  }

 private:
  Ring::Adjoint go(ThrowingRing& ring) const {
    Ring::State state = Ring::initial();
    Ring::Adjoint adjoint = Ring::zero();
    run(ring, state, adjoint, steps,
        {.levels = {{.slots = 1},
                    {.slots = 3, .directory = scratch_.path(), .write_cost = 1, .read_cost = 1}},
         .kind = Kind::multilevel,
         .verify = Verify::replay,
         .resume = true,
         .io = Io::blocking});
    return adjoint;
  }

  Scratch scratch_;
  std::optional<FolderCopy> folder_;
  Ring::Adjoint expected_ = reference(steps);
};

// Interrupted in the forward sweep and in the reversal.
inline const CraftedRun& crafted_run(bool in_reverse) {
  static const CraftedRun forward(0.2), reverse(0.7);
  return in_reverse ? reverse : forward;
}

}  // namespace tidemark::schedule::testing
