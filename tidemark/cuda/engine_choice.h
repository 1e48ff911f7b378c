// One of cuDNN's engines with the values of its knobs, as a plan records it (plan/algorithms.h): all that is
// needed to have the very same kernels again, from a library of the same version. Plain data: no library is
// needed to read one.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark::cuda {

struct EngineChoice {
  struct Knob {
    std::int64_t type = 0, value = 0;  // numbers of the library's own
    friend bool operator==(const Knob&, const Knob&) = default;
  };
  std::int64_t version = 0;  // of the library whose numbers these are
  std::int64_t engine = 0;   // its global index
  std::vector<Knob> knobs = {};
  friend bool operator==(const EngineChoice&, const EngineChoice&) = default;
};

// "cuDNN 91002, engine 20, knobs 2=3 13=1"
std::string to_text(const EngineChoice& choice);
std::optional<EngineChoice> engine_choice_of(std::string_view text);  // none: it is no such text

// Recorded of a convolution that no engine of the library computes, but the kernel that is generated for it.
inline constexpr std::string_view generated_convolution = "generated";

}  // namespace tidemark::cuda
