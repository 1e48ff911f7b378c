// Text as tokens. Any bytes are text: decode(encode(text)) == text always.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tidemark/base/source.h"

namespace tidemark::data {

using Tokens = std::vector<std::int32_t>;

// A token per byte: 0 to 255.
struct ByteTokenizer {
  static constexpr std::int64_t vocabulary = 256;
  static Tokens encode(std::string_view text);
  // Throws Error `index_out_of_range` for what is no token.
  static std::string decode(std::span<const std::int32_t> tokens,
                            SourceLine where = std::source_location::current());
};

struct BpeOptions {
  std::int64_t vocabulary = 4096;          // with the 256 bytes and the special tokens
  std::int64_t least = 2;                  // pairs that are met less often are not merged
  std::vector<std::string> specials = {};  // tokens that stand for no text, as "<|endoftext|>"
};

// Byte-pair encoding (Gage 1994; Sennrich et al. 2016) over bytes, as GPT-2 has it: text is cut into words
// (word_split.h), and within a word pairs of tokens are merged, those that training merged first before the
// others. Tokens are the 256 bytes, then the merges in order, then the special ones.
class BpeTokenizer {
 public:
  struct Merge {
    std::int32_t left = 0, right = 0;
    friend auto operator<=>(const Merge&, const Merge&) = default;
  };

  // Learns the merges from a text: at each step the pair that is met most often, of several the one with the
  // smallest tokens. May give fewer than asked for, where no pair is left that is met often enough. Throws
  // Error `bad_attribute`.
  static BpeTokenizer train(std::string_view text, const BpeOptions& options = {},
                            SourceLine where = std::source_location::current());
  // Of merges, each of tokens that are there before it.
  BpeTokenizer(std::vector<Merge> merges, std::vector<std::string> specials,
               SourceLine where = std::source_location::current());

  // A text file, a line per merge, and back. Throws Error `bad_data_file` for another.
  void save(const std::string& path) const;
  static BpeTokenizer load(const std::string& path, SourceLine where = std::source_location::current());
  std::string to_text() const;
  static BpeTokenizer from_text(std::string_view text, const std::string& name);

  std::int64_t vocabulary() const { return static_cast<std::int64_t>(texts_.size()); }
  std::span<const Merge> merges() const { return merges_; }
  // Special tokens never come out of text: they are put in by hand.
  Tokens encode(std::string_view text) const;
  std::string decode(std::span<const std::int32_t> tokens,
                     SourceLine where = std::source_location::current()) const;
  std::int32_t special(std::string_view text, SourceLine where = std::source_location::current()) const;

 private:
  Tokens encode_word(std::string_view word) const;

  std::vector<Merge> merges_;
  std::vector<std::string> specials_;
  std::vector<std::string> texts_;   // of each token
  std::vector<std::uint64_t> keys_;  // hash table of the merges: pairs, and their ranks
  std::vector<std::int32_t> ranks_;
  std::int32_t rank_of(std::int32_t left, std::int32_t right) const;  // below zero: not merged
};

}  // namespace tidemark::data
