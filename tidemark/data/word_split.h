// Cuts text into the words that byte-pair encoding works in, as GPT-2's expression does:
//   's|'t|'re|'ve|'m|'ll|'d| ?letters| ?digits| ?others|spaces before a word but for the last|spaces
// Bytes outside of ASCII count as letters, so that any UTF-8 text stays in one piece where GPT-2 would look
// up the kind of each character; and no word is longer than 256 bytes, so that text without spaces costs no
// more than other text.
#pragma once
#include <cstddef>
#include <string_view>

namespace tidemark::data {

// How long the first word of a text is that is not empty.
std::size_t first_word(std::string_view text);

}  // namespace tidemark::data
