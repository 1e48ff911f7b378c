#include "tidemark/cuda/engine_choice.h"

#include <fmt/format.h>

#include <charconv>

namespace tidemark::cuda {
namespace {

constexpr std::string_view version_word = "cuDNN ", engine_word = ", engine ", knobs_word = ", knobs";

// Takes what stands in front of a text away from it.
bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}
bool take(std::string_view& text, std::int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

}  // namespace

std::string to_text(const EngineChoice& choice) {
  std::string text = fmt::format("{}{}{}{}", version_word, choice.version, engine_word, choice.engine);
  if (!choice.knobs.empty()) text += knobs_word;
  for (const EngineChoice::Knob& knob : choice.knobs) text += fmt::format(" {}={}", knob.type, knob.value);
  return text;
}

std::optional<EngineChoice> engine_choice_of(std::string_view text) {
  EngineChoice choice;
  if (!take(text, version_word) || !take(text, choice.version) || !take(text, engine_word) ||
      !take(text, choice.engine))
    return std::nullopt;
  if (text.empty()) return choice;
  if (!take(text, knobs_word)) return std::nullopt;
  do {
    EngineChoice::Knob knob;
    if (!take(text, " ") || !take(text, knob.type) || !take(text, "=") || !take(text, knob.value))
      return std::nullopt;
    choice.knobs.push_back(knob);
  } while (!text.empty());
  return choice;
}

}  // namespace tidemark::cuda
