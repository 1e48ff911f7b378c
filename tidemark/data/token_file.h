// Files of tokens, as llm.c (github.com/karpathy/llm.c) writes them: a header of 256 whole numbers of 32 bits
// (magic, version, count, zeros), then the tokens.
//
//   gpt2     magic 20240520, version 1, tokens of 16 bits
//   llama3   magic 20240801, version 7, tokens of 32 bits
#pragma once
#include <memory>
#include <span>
#include <string>

#include "tidemark/data/source.h"

namespace tidemark::data {

enum class TokenFormat { gpt2, llama3 };

// Read where it lies: a large file is not loaded. Copies share it.
class TokenFile {
 public:
  explicit TokenFile(const std::string& path, SourceLine where = std::source_location::current());
  // Of bytes in memory, which outlive it.
  TokenFile(std::span<const std::byte> bytes, const std::string& name);

  std::int64_t size() const { return count_; }
  TokenFormat format() const { return format_; }
  // i32. Throws Error `index_out_of_range` for tokens that are not there.
  Tensor tokens(std::int64_t begin, std::int64_t count,
                SourceLine where = std::source_location::current()) const;
  // Into `to`. Throws Error `bad_data_file` for tokens that i32 cannot hold.
  void read(std::int64_t begin, std::span<std::int32_t> to) const;
  const std::string& name() const;

 private:
  class Content;
  void read_header();

  std::shared_ptr<const Content> content_;
  TokenFormat format_ = TokenFormat::gpt2;
  std::int64_t count_ = 0;
};

// Replaces the file at once. Throws Error `bad_attribute` for tokens that the format cannot hold.
void write_token_file(const std::string& path, std::span<const std::int32_t> tokens,
                      TokenFormat format = TokenFormat::gpt2,
                      SourceLine where = std::source_location::current());

// Example i is the context + 1 tokens from i · stride on: inputs are all but the last, targets all but the
// first. The stride is the context, if not given, so that each token is a target once; 1 gives every window
// there is. Batches are i32 (rows, context + 1).
Source<Tensor> windows(const TokenFile& file, std::int64_t context, std::int64_t stride = 0,
                       SourceLine where = std::source_location::current());
Source<Tensor> windows(const Tensor& tokens, std::int64_t context, std::int64_t stride = 0,
                       SourceLine where = std::source_location::current());

}  // namespace tidemark::data
