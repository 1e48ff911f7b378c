#include "tidemark/data/word_split.h"

namespace tidemark::data {
namespace {

enum class CharKind { letter, digit, space, other };

CharKind kind_of(char c) {
  const auto u = static_cast<unsigned char>(c);
  if (u >= 0x80 || (u >= 'a' && u <= 'z') || (u >= 'A' && u <= 'Z')) return CharKind::letter;
  if (u >= '0' && u <= '9') return CharKind::digit;
  if (u == ' ' || (u >= '\t' && u <= '\r')) return CharKind::space;
  return CharKind::other;
}

constexpr std::size_t longest_word = 256;

std::size_t run_of(std::string_view text, std::size_t from, CharKind kind) {
  std::size_t end = from;
  while (end < text.size() && end < longest_word && kind_of(text[end]) == kind) ++end;
  if (end < longest_word) return end;
  // Not in the middle of a character, if it is UTF-8.
  const auto is_inside = [&](std::size_t at) {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
  };
  std::size_t cut = end;
  while (cut > end - 4 && is_inside(cut)) --cut;
  return is_inside(cut) ? end : cut;
}

}  // namespace

std::size_t first_word(std::string_view text) {
  for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (text.starts_with(ending)) return ending.size();
  }
  const std::size_t begin = text[0] == ' ' && text.size() > 1 ? 1 : 0;
  if (const CharKind kind = kind_of(text[begin]); kind != CharKind::space) return run_of(text, begin, kind);
  const std::size_t spaces = run_of(text, 0, CharKind::space);
  // The last one belongs to the word behind it.
  return spaces == text.size() || spaces == 1 || spaces == longest_word ? spaces : spaces - 1;
}

}  // namespace tidemark::data
