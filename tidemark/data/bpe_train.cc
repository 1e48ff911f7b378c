// Learning the merges. Words are counted once each; pairs of tokens have their counts, and the words they
// were met in, kept up to date with every merge, so that a merge costs what it changes and not the text
// again. The most frequent pair comes from a heap whose entries may be out of date: those are put back with
// the count they have now.
#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "tidemark/base/error.h"
#include "tidemark/data/tokenizer.h"
#include "tidemark/data/word_split.h"

namespace tidemark::data {
namespace {

using PairKey = std::uint64_t;
PairKey key_of(std::int32_t left, std::int32_t right) {
  return static_cast<PairKey>(static_cast<std::uint32_t>(left)) << 32 | static_cast<std::uint32_t>(right);
}

struct TrainingWord {
  Tokens tokens;
  std::int64_t count = 0;  // in the text
};

struct PairFacts {
  std::int64_t count = 0;
  std::vector<std::uint32_t> words;  // where it was met; it may be gone from some of them
};

struct Candidate {
  std::int64_t count;
  PairKey pair;
  // The largest is on top of a heap: the highest count, then the smallest pair.
  bool operator<(const Candidate& other) const {
    return count != other.count ? count < other.count : pair > other.pair;
  }
};

class Trainer {
 public:
  explicit Trainer(std::string_view text) {
    std::unordered_map<std::string_view, std::uint32_t> known;
    while (!text.empty()) {
      const std::string_view word = text.substr(0, first_word(text));
      text.remove_prefix(word.size());
      const auto [at, is_new] = known.emplace(word, static_cast<std::uint32_t>(words_.size()));
      if (is_new) words_.push_back({ByteTokenizer::encode(word), 0});
      ++words_[at->second].count;
    }
    for (std::uint32_t i = 0; i < words_.size(); ++i) {
      const Tokens& tokens = words_[i].tokens;
      for (std::size_t k = 0; k + 1 < tokens.size(); ++k) met(tokens[k], tokens[k + 1], i);
    }
    for (const auto& [pair, facts] : pairs_) heap_.push({facts.count, pair});
  }

  // None: no pair is met so often.
  bool next(std::int64_t least, BpeTokenizer::Merge& merge) {
    while (!heap_.empty()) {
      const Candidate top = heap_.top();
      heap_.pop();
      const auto found = pairs_.find(top.pair);
      if (found == pairs_.end()) continue;
      if (found->second.count != top.count) {
        if (found->second.count > 0) heap_.push({found->second.count, top.pair});
        continue;
      }
      if (top.count < least) return false;
      merge = {static_cast<std::int32_t>(top.pair >> 32), static_cast<std::int32_t>(top.pair & 0xffffffff)};
      return true;
    }
    return false;
  }

  void apply(const BpeTokenizer::Merge& merge, std::int32_t made) {
    auto node = pairs_.extract(key_of(merge.left, merge.right));
    std::vector<std::uint32_t>& where = node.mapped().words;
    std::ranges::sort(where);
    where.erase(std::ranges::unique(where).begin(), where.end());
    changed_.clear();
    for (const std::uint32_t word : where) apply_in(word, merge, made);
    std::ranges::sort(changed_);
    changed_.erase(std::ranges::unique(changed_).begin(), changed_.end());
    for (const PairKey pair : changed_) {
      if (const auto found = pairs_.find(pair); found != pairs_.end() && found->second.count > 0)
        heap_.push({found->second.count, pair});
    }
  }

 private:
  void met(std::int32_t left, std::int32_t right, std::uint32_t word) {
    PairFacts& facts = pairs_[key_of(left, right)];
    facts.count += words_[word].count;
    if (facts.words.empty() || facts.words.back() != word) facts.words.push_back(word);
  }
  void gone(std::int32_t left, std::int32_t right, std::uint32_t word) {
    if (const auto found = pairs_.find(key_of(left, right)); found != pairs_.end())
      found->second.count -= words_[word].count;
  }

  void apply_in(std::uint32_t word, const BpeTokenizer::Merge& merge, std::int32_t made) {
    Tokens& tokens = words_[word].tokens;
    Tokens merged;
    merged.reserve(tokens.size());
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const bool here = i + 1 < tokens.size() && tokens[i] == merge.left && tokens[i + 1] == merge.right;
      merged.push_back(here ? made : tokens[i]);
      i += here;
    }
    if (merged.size() == tokens.size()) return;
    // Only pairs beside a merge come and go.
    std::size_t from = 0, to = 0;
    while (to < merged.size()) {
      const std::size_t width = merged[to] == made ? 2 : 1;
      if (to + 1 < merged.size() && (merged[to] == made || merged[to + 1] == made)) {
        gone(tokens[from + width - 1], tokens[from + width], word);
        met(merged[to], merged[to + 1], word);
        changed_.push_back(key_of(merged[to], merged[to + 1]));
      }
      from += width;
      ++to;
    }
    tokens = std::move(merged);
  }

  std::vector<TrainingWord> words_;
  std::unordered_map<PairKey, PairFacts> pairs_;
  std::priority_queue<Candidate> heap_;
  std::vector<PairKey> changed_;
};

}  // namespace

BpeTokenizer BpeTokenizer::train(std::string_view text, const BpeOptions& options, SourceLine where) {
  constexpr std::int64_t most = std::int64_t{1} << 24;
  const auto specials = static_cast<std::int64_t>(options.specials.size());
  if (options.vocabulary < 256 + specials || options.vocabulary > most || options.least < 1) {
    fail(ErrorCode::bad_attribute,
         {.what = fmt::format("a vocabulary of {} tokens, of pairs met {} times", options.vocabulary,
                              options.least),
          .expected = fmt::format("{} (bytes and special tokens) to {}, pairs met once or more",
                                  256 + specials, most),
          .where = where});
  }
  Trainer trainer(text);
  std::vector<Merge> merges;
  Merge merge;
  while (256 + static_cast<std::int64_t>(merges.size()) + specials < options.vocabulary &&
         trainer.next(options.least, merge)) {
    trainer.apply(merge, static_cast<std::int32_t>(256 + merges.size()));
    merges.push_back(merge);
  }
  return {std::move(merges), options.specials, where};
}

}  // namespace tidemark::data
