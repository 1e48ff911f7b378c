// Fixed mutations of valid texts, for running a fuzz target as a test: bytes changed, stretches lost, doubled
// or spliced, words and numbers put where others stood.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tidemark::testing {

// The files of a folder, in the order of their names.
inline std::vector<std::string> texts_in(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<std::string> texts;
  for (const auto& path : files) {
    std::ifstream in(path, std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return texts;
}

class Mutator {
 public:
  Mutator(const std::vector<std::string>& texts, const std::vector<std::string>& words,
          std::uint64_t seed = 20240607)
      : texts_(texts), words_(words), random_(seed) {}

  // A function of the seed and the texts alone.
  std::string next(std::uint64_t seed) {
    random_.seed(seed);
    return next();
  }

  std::string next() {
    std::string text = any(texts_);
    for (std::size_t edits = 1 + below(4); edits > 0; --edits) edit(text);
    return text;
  }

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  const std::string& any(const std::vector<std::string>& choices) { return choices[below(choices.size())]; }

  void edit(std::string& text) {
    if (text.empty()) text = any(words_);
    const std::size_t at = below(text.size()), length = std::min(1 + below(12), text.size() - at);
    switch (below(8)) {
      case 0:
        text[at] = static_cast<char>(below(256));
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(below(text.size()), length));
        break;
      case 3:
        text.insert(at, any(words_));
        break;
      case 4:
      case 5:
        replace_number(text, at);
        break;
      case 6:
        text.resize(at);
        break;
      default: {  // splice with another text
        const std::string& other = any(texts_);
        const std::size_t from = below(other.size());
        text.replace(at, length, other, from, std::min(other.size() - from, std::size_t{1} + below(40)));
      }
    }
  }

  // The most telling mutation: the syntax stays, a size, axis or operand changes.
  void replace_number(std::string& text, std::size_t at) {
    static const std::vector<std::string> numbers = {"0",
                                                     "1",
                                                     "2",
                                                     "3",
                                                     "7",
                                                     "-1",
                                                     "-5",
                                                     "8",
                                                     "4096",
                                                     "281474976710656",
                                                     "4294967296",
                                                     "9223372036854775807",
                                                     "-9223372036854775808"};
    const std::size_t begin = text.find_first_of("0123456789", at);
    if (begin == std::string::npos) return;
    const std::size_t end = std::min(text.find_first_not_of("0123456789", begin), text.size());
    text.replace(begin, end - begin, any(numbers));
  }

  std::vector<std::string> texts_, words_;
  std::mt19937_64 random_;
};

}  // namespace tidemark::testing
