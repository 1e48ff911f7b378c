#include "tidemark/data/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>
#include <unordered_map>

#include "tidemark/base/error.h"
#include "tidemark/base/text_file.h"
#include "tidemark/data/word_split.h"
#include "tidemark/files/file_bytes.h"

namespace tidemark::data {
namespace {

constexpr std::string_view first_line = "tidemark byte-pair encoding 1";
constexpr std::size_t longest_token = std::size_t{1} << 16;
constexpr std::uint64_t no_pair = ~std::uint64_t{0};

std::uint64_t pair_of(std::int32_t left, std::int32_t right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
         static_cast<std::uint32_t>(right);
}
std::size_t slot_of(std::uint64_t pair, std::size_t mask) {
  return static_cast<std::size_t>(pair * 0x9e3779b97f4a7c15u >> 20) & mask;
}

[[noreturn]] void refuse_token(std::int32_t token, std::size_t at, std::int64_t vocabulary,
                               SourceLine where) {
  fail(ErrorCode::index_out_of_range, {.what = fmt::format("number {} is {}, which is no token", at, token),
                                       .expected = fmt::format("0 to {}", vocabulary - 1),
                                       .where = where});
}

// Printable ASCII as it is, but for the backslash and the quote; other bytes as \xNN.
std::string escaped(std::string_view text) {
  std::string line;
  for (const char c : text) {
    if (c < ' ' || c > '~' || c == '\\' || c == '"') {
      line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      line += c;
    }
  }
  return line;
}

// The lines of a file of merges.
class MergeReader {
 public:
  MergeReader(std::string_view text, const std::string& name) : rest_(text), name_(name) {}

  [[noreturn]] void refuse(std::string_view what, std::string expected) const {
    refuse_file(name_, fmt::format("line {}: {}", number_, what), std::move(expected));
  }
  std::string_view line() {
    ++number_;
    const std::size_t end = rest_.find('\n');
    if (end == std::string_view::npos) refuse("the file ends too early", "a whole file");
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return line;
  }
  // "merges 12"
  std::int64_t count(std::string_view word) {
    std::string_view text = line();
    const bool begins = text.starts_with(word) && text.substr(word.size()).starts_with(' ');
    const std::int64_t n = begins ? number(text = text.substr(word.size() + 1)) : -1;
    if (n < 0 || !text.empty() || n > static_cast<std::int64_t>(rest_.size()))
      refuse("not a count", fmt::format("`{} N`", word));
    return n;
  }
  // Takes it off the text; below zero: there is none.
  static std::int64_t number(std::string_view& text) {
    std::int64_t n = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc()) return -1;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return n;
  }
  // What `escaped` wrote, between quotes.
  std::string quoted(std::string_view text) const {
    std::string result;
    if (text.size() < 2 || text.front() != '"' || text.back() != '"') refuse("not a quoted text", "\"…\"");
    text = text.substr(1, text.size() - 2);
    while (!text.empty()) {
      unsigned byte = static_cast<unsigned char>(text[0]);
      std::size_t taken = 1;
      if (text.starts_with("\\x") && text.size() >= 4) {
        const auto [end, error] = std::from_chars(text.data() + 2, text.data() + 4, byte, 16);
        taken = error == std::errc() && end == text.data() + 4 ? 4 : 0;
      }
      if (taken == 0 || (taken == 1 && (byte == '\\' || byte == '"')))
        refuse("a text with a wrong escape", "\\xNN");
      result += static_cast<char>(byte);
      text.remove_prefix(taken);
    }
    return result;
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  std::string name_;
  int number_ = 0;
};

}  // namespace

Tokens ByteTokenizer::encode(std::string_view text) {
  Tokens tokens;
  tokens.reserve(text.size());
  for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
  return tokens;
}

std::string ByteTokenizer::decode(std::span<const std::int32_t> tokens, SourceLine where) {
  std::string text;
  text.reserve(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] >= vocabulary) refuse_token(tokens[i], i, vocabulary, where);
    text += static_cast<char>(tokens[i]);
  }
  return text;
}

BpeTokenizer::BpeTokenizer(std::vector<Merge> merges, std::vector<std::string> specials, SourceLine where)
    : merges_(std::move(merges)), specials_(std::move(specials)) {
  for (int byte = 0; byte < 256; ++byte) texts_.emplace_back(1, static_cast<char>(byte));
  const std::size_t slots = std::bit_ceil(2 * merges_.size() + 2);
  keys_.assign(slots, no_pair);
  ranks_.assign(slots, -1);
  for (std::size_t rank = 0; rank < merges_.size(); ++rank) {
    const auto [left, right] = merges_[rank];
    const auto known = static_cast<std::int32_t>(texts_.size());
    const bool sound = left >= 0 && left < known && right >= 0 && right < known && rank_of(left, right) < 0;
    const auto size_of_token = [&](std::int32_t token) {
      return texts_[static_cast<std::size_t>(token)].size();
    };
    if (!sound || size_of_token(left) + size_of_token(right) > longest_token) {
      fail(
          ErrorCode::bad_attribute,
          {.what = fmt::format("merge {} is of the tokens {} and {}", rank, left, right),
           .expected = fmt::format("tokens below {}, each pair once, {} bytes at most", known, longest_token),
           .where = where});
    }
    texts_.push_back(texts_[static_cast<std::size_t>(left)] + texts_[static_cast<std::size_t>(right)]);
    std::size_t slot = slot_of(pair_of(left, right), slots - 1);
    while (keys_[slot] != no_pair) slot = (slot + 1) & (slots - 1);
    keys_[slot] = pair_of(left, right);
    ranks_[slot] = static_cast<std::int32_t>(rank);
  }
  for (const std::string& special : specials_) {
    if (special.empty() || std::ranges::count(specials_, special) > 1) {
      fail(ErrorCode::bad_attribute, {.what = fmt::format("the special token `{}`", shown(special)),
                                      .expected = "texts, each once",
                                      .where = where});
    }
    texts_.push_back(special);
  }
}

std::int32_t BpeTokenizer::rank_of(std::int32_t left, std::int32_t right) const {
  const std::uint64_t pair = pair_of(left, right);
  for (std::size_t slot = slot_of(pair, keys_.size() - 1); keys_[slot] != no_pair;
       slot = (slot + 1) & (keys_.size() - 1)) {
    if (keys_[slot] == pair) return ranks_[slot];
  }
  return -1;
}

// The merge of the lowest rank first, wherever it is, all over the word.
Tokens BpeTokenizer::encode_word(std::string_view word) const {
  Tokens tokens = ByteTokenizer::encode(word);
  while (tokens.size() > 1) {
    std::int32_t best = std::numeric_limits<std::int32_t>::max();
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      const std::int32_t rank = rank_of(tokens[i], tokens[i + 1]);
      if (rank >= 0 && rank < best) best = rank;
    }
    if (best == std::numeric_limits<std::int32_t>::max()) break;
    const auto [left, right] = merges_[static_cast<std::size_t>(best)];
    std::size_t to = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i, ++to) {
      const bool here = i + 1 < tokens.size() && tokens[i] == left && tokens[i + 1] == right;
      tokens[to] = here ? 256 + best : tokens[i];
      i += here;
    }
    tokens.resize(to);
  }
  return tokens;
}

Tokens BpeTokenizer::encode(std::string_view text) const {
  constexpr std::size_t most_kept = std::size_t{1} << 16;
  std::unordered_map<std::string_view, Tokens> kept;  // most words of a text are met often
  Tokens tokens;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, first_word(text));
    text.remove_prefix(word.size());
    auto found = kept.find(word);
    if (found == kept.end()) {
      if (kept.size() == most_kept) kept.clear();
      found = kept.emplace(word, encode_word(word)).first;
    }
    const Tokens& of_word = found->second;
    tokens.insert(tokens.end(), of_word.begin(), of_word.end());
  }
  return tokens;
}

std::string BpeTokenizer::decode(std::span<const std::int32_t> tokens, SourceLine where) const {
  std::string text;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] >= vocabulary()) refuse_token(tokens[i], i, vocabulary(), where);
    text += texts_[static_cast<std::size_t>(tokens[i])];
  }
  return text;
}

std::int32_t BpeTokenizer::special(std::string_view text, SourceLine where) const {
  const auto found = std::ranges::find(specials_, text);
  if (found == specials_.end()) {
    fail(ErrorCode::bad_attribute,
         {.what = fmt::format("there is no special token `{}`", shown(text)),
          .expected = fmt::format("one of the {} that it was made with", specials_.size()),
          .where = where});
  }
  return static_cast<std::int32_t>(256 + merges_.size() +
                                   static_cast<std::size_t>(found - specials_.begin()));
}

std::string BpeTokenizer::to_text() const {
  std::string text = fmt::format("{}\nspecials {}\n", first_line, specials_.size());
  for (const std::string& special : specials_) text += fmt::format("\"{}\"\n", escaped(special));
  text += fmt::format("merges {}\n", merges_.size());
  for (std::size_t i = 0; i < merges_.size(); ++i)
    text += fmt::format("{} {} \"{}\"\n", merges_[i].left, merges_[i].right, escaped(texts_[256 + i]));
  return text;
}

BpeTokenizer BpeTokenizer::from_text(std::string_view text, const std::string& name) {
  MergeReader reader(text, name);
  if (reader.line() != first_line) reader.refuse("not a file of merges", fmt::format("`{}`", first_line));
  std::vector<std::string> specials(static_cast<std::size_t>(reader.count("specials")));
  for (std::string& special : specials) special = reader.quoted(reader.line());
  std::vector<Merge> merges(static_cast<std::size_t>(reader.count("merges")));
  std::vector<std::size_t> sizes(256, 1);  // of texts: they cannot make more than the file says
  for (Merge& merge : merges) {
    std::string_view line = reader.line();
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    const std::int64_t left = MergeReader::number(line);
    const bool spaced = line.starts_with(' ');
    if (spaced) line.remove_prefix(1);
    const std::int64_t right = spaced ? MergeReader::number(line) : -1;
    if (left < 0 || left > most || right < 0 || right > most || !line.starts_with(" \""))
      reader.refuse("not a merge", "two tokens and the text they make, as `116 104 \"th\"`");
    const auto known = static_cast<std::int64_t>(sizes.size());
    const std::size_t size = reader.quoted(line.substr(1)).size();
    if (left >= known || right >= known ||
        size != sizes[static_cast<std::size_t>(left)] + sizes[static_cast<std::size_t>(right)])
      reader.refuse("a merge of other tokens than its text", fmt::format("tokens below {}", known));
    sizes.push_back(size);
    merge = {static_cast<std::int32_t>(left), static_cast<std::int32_t>(right)};
  }
  if (!reader.at_end()) reader.refuse("more than was announced", "the end of the file");
  try {
    BpeTokenizer tokenizer(std::move(merges), std::move(specials), {});
    // The texts of merges are for people; they are held against the tokens, so that what people read is true.
    if (tokenizer.to_text() != text)
      refuse_file(name, "a text is not what its tokens make", "a file as it was saved");
    return tokenizer;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::bad_data_file) throw;
    refuse_file(name, error.parts().what, error.parts().expected);
  }
}

void BpeTokenizer::save(const std::string& path) const { write_text_file(path, to_text()); }

BpeTokenizer BpeTokenizer::load(const std::string& path, SourceLine where) {
  return at_line(where, [&] { return from_text(read_text_file(path, "a file of merges"), path); });
}

}  // namespace tidemark::data
