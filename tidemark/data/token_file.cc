#include "tidemark/data/token_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "tidemark/base/text_file.h"
#include "tidemark/files/archive.h"
#include "tidemark/files/file_bytes.h"
#include "tidemark/trace/storage.h"

namespace tidemark::data {
namespace {

constexpr std::size_t header_numbers = 256;
using Header = std::array<std::int32_t, header_numbers>;

struct FormatFacts {
  TokenFormat format;
  std::int32_t magic, version;
  std::int64_t bytes;  // of a token
  std::int32_t most;   // the largest token
};
constexpr FormatFacts formats[] = {{TokenFormat::gpt2, 20240520, 1, 2, 0xffff},
                                   {TokenFormat::llama3, 20240801, 7, 4, 0x7fffffff}};
const FormatFacts& facts_of(TokenFormat format) { return formats[static_cast<int>(format)]; }

Source<Tensor> window_source(std::int64_t count, std::int64_t context, std::int64_t stride, SourceLine where,
                             std::function<void(std::int64_t, std::span<std::int32_t>)> read) {
  if (context < 1 || stride < 0) {
    fail(ErrorCode::bad_loader_option,
         {.what = fmt::format("windows of context {} with stride {}", context, stride),
          .expected = "a context of 1 or more, a stride of 0 (the context) or more",
          .where = where});
  }
  const std::int64_t step = stride == 0 ? context : stride;
  const std::int64_t size = count > context ? (count - context - 1) / step + 1 : 0;
  return {size, [context, step, read = std::move(read)](std::span<const std::int64_t> indices) {
            NewTensor made({DType::i32, {static_cast<std::int64_t>(indices.size()), context + 1}});
            auto* to = reinterpret_cast<std::int32_t*>(made.bytes.data());
            for (const std::int64_t index : indices) {
              read(index * step, {to, static_cast<std::size_t>(context + 1)});
              to += context + 1;
            }
            return std::move(made).tensor();
          }};
}

}  // namespace

class TokenFile::Content {
 public:
  explicit Content(FileBytes file) : file_(std::move(file)) {}
  const FileBytes& bytes() const { return file_; }

 private:
  FileBytes file_;
};

TokenFile::TokenFile(const std::string& path, SourceLine where)
    : content_(std::make_shared<Content>(FileBytes::open(path, where))) {
  at_line(where, [&] { read_header(); });
}

TokenFile::TokenFile(std::span<const std::byte> bytes, const std::string& name)
    : content_(std::make_shared<Content>(FileBytes::of(bytes, name))) {
  read_header();
}

const std::string& TokenFile::name() const { return content_->bytes().name(); }

void TokenFile::read_header() {
  const FileBytes& file = content_->bytes();
  if (file.size() < sizeof(Header))
    file.refuse(fmt::format("it has {} bytes, too few for a file of tokens", file.size()),
                "a header of 1024 bytes and the tokens");
  Header header;
  file.read(std::as_writable_bytes(std::span(header)), 0);
  const auto* found = std::ranges::find(formats, header[0], &FormatFacts::magic);
  if (found == std::end(formats)) {
    file.refuse(fmt::format("it begins with the number {}", header[0]),
                "20240520 (GPT-2, 16 bits) or 20240801 (Llama 3, 32 bits)",
                "write it with llm.c's scripts or with write_token_file");
  }
  if (header[1] != found->version)
    file.refuse(fmt::format("version {} of the format", header[1]), fmt::format("{}", found->version));
  const std::uint64_t there = file.size() - sizeof(Header);
  if (header[2] < 0 ||
      static_cast<std::uint64_t>(header[2]) * static_cast<std::uint64_t>(found->bytes) != there) {
    file.refuse(fmt::format("{} tokens of {} bytes are announced, and {} bytes follow", header[2],
                            found->bytes, there),
                "a whole file", "it was cut off on its way here: copy or make it again");
  }
  format_ = found->format;
  count_ = header[2];
}

void TokenFile::read(std::int64_t begin, std::span<std::int32_t> to) const {
  const FormatFacts& facts = facts_of(format_);
  const auto at = sizeof(Header) + static_cast<std::uint64_t>(begin * facts.bytes);
  if (facts.bytes == 4) {
    content_->bytes().read(std::as_writable_bytes(to), at);
    const auto wrong = std::ranges::find_if(to, [](std::int32_t token) { return token < 0; });
    if (wrong != to.end())
      content_->bytes().refuse(
          fmt::format("token {} is larger than i32 holds", begin + (wrong - to.begin())));
    return;
  }
  // The 16 bits are read into the upper half of what they become, and widened from the front.
  const auto bytes = std::as_writable_bytes(to);
  const auto narrow = bytes.subspan(bytes.size() / 2);
  content_->bytes().read(narrow, at);
  for (std::size_t i = 0; i < to.size(); ++i) {
    std::uint16_t token = 0;
    std::memcpy(&token, narrow.data() + 2 * i, 2);
    to[i] = token;
  }
}

Tensor TokenFile::tokens(std::int64_t begin, std::int64_t count, SourceLine where) const {
  if (begin < 0 || count < 0 || begin > count_ || count > count_ - begin) {
    fail(ErrorCode::index_out_of_range,
         {.what = fmt::format("{}: {} tokens from {} on", name(), count, begin),
          .expected = fmt::format("within the {} that are there", count_),
          .where = where});
  }
  return at_line(where, [&] {
    NewTensor made({DType::i32, {count}});
    read(begin, {reinterpret_cast<std::int32_t*>(made.bytes.data()), static_cast<std::size_t>(count)});
    return std::move(made).tensor();
  });
}

void write_token_file(const std::string& path, std::span<const std::int32_t> tokens, TokenFormat format,
                      SourceLine where) {
  const FormatFacts& facts = facts_of(format);
  const auto refuse = [&](std::string what, std::string expected) {
    fail(ErrorCode::bad_attribute,
         {.what = fmt::format("{}: {}", path, what), .expected = std::move(expected), .where = where});
  };
  if (tokens.size() > 0x7fffffff)
    refuse(fmt::format("{} tokens", tokens.size()),
           "at most 2147483647, the format's limit: write several files");
  const auto wrong =
      std::ranges::find_if(tokens, [&](std::int32_t token) { return token < 0 || token > facts.most; });
  if (wrong != tokens.end()) {
    refuse(fmt::format("token {} is {}", wrong - tokens.begin(), *wrong), fmt::format("0 to {}", facts.most));
  }
  at_line(where, [&] {
    Header header{};
    header[0] = facts.magic;
    header[1] = facts.version;
    header[2] = static_cast<std::int32_t>(tokens.size());
    OutputFile file(path);
    write_bytes(file, std::as_bytes(std::span(header)));
    if (facts.bytes == 4) {
      write_bytes(file, std::as_bytes(tokens));
    } else {
      const std::vector<std::uint16_t> narrow(tokens.begin(), tokens.end());
      write_bytes(file, std::as_bytes(std::span(narrow)));
    }
    file.commit();
  });
}

Source<Tensor> windows(const TokenFile& file, std::int64_t context, std::int64_t stride, SourceLine where) {
  return window_source(file.size(), context, stride, where,
                       [file](std::int64_t begin, std::span<std::int32_t> to) { file.read(begin, to); });
}

Source<Tensor> windows(const Tensor& tokens, std::int64_t context, std::int64_t stride, SourceLine where) {
  if (!tokens.is_data() || tokens.rank() != 1 || tokens.dtype() != DType::i32) {
    fail(ErrorCode::bad_loader_option,
         {.what = fmt::format("windows of a tensor {}", to_string(tokens.type())),
          .expected = "tokens in one row of i32",
          .where = where});
  }
  return window_source(tokens.count(), context, stride, where,
                       [tokens](std::int64_t begin, std::span<std::int32_t> to) {
                         const Reading reading = tokens.read();
                         std::memcpy(to.data(), reading.data() + 4 * begin, to.size_bytes());
                       });
}

}  // namespace tidemark::data
