#include "tidemark/train/checkpoint_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "tidemark/files/file_bytes.h"
#include "tidemark/schedule/store/checksum.h"

namespace tidemark {
namespace {

constexpr std::string_view format_key = "tidemark.checkpoint", format_version = "1",
                           step_key = "tidemark.step", epoch_key = "tidemark.data.epoch",
                           batch_key = "tidemark.data.batch", loader_key = "tidemark.data.loader",
                           number_prefix = "tidemark.number.";

// Whole numbers as such; others with a point or an exponent, as few digits as give them back exactly.
std::string text_of(const Number& number) {
  if (number.is_whole()) return fmt::format("{}", number.whole());
  char digits[64];
  const auto [end, error] =
      std::to_chars(digits, digits + sizeof digits, number.real(), std::chars_format::scientific);
  return {digits, end};
}

template <class T>
std::optional<T> parsed(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

template <class T>
T value_at(const FileMetadata& metadata, std::string_view key, const std::string& name) {
  const auto found = metadata.find(std::string(key));
  const std::optional<T> value = found == metadata.end() ? std::nullopt : parsed<T>(found->second);
  if (!value) refuse_file(name, fmt::format("`{}` is missing or no number", key), "a checkpoint");
  return *value;
}

}  // namespace

FileMetadata checkpoint_metadata(const CheckpointFacts& facts) {
  FileMetadata metadata = {{std::string(format_key), std::string(format_version)},
                           {std::string(step_key), std::to_string(facts.step)}};
  if (facts.position) {
    metadata.emplace(epoch_key, std::to_string(facts.position->epoch));
    metadata.emplace(batch_key, std::to_string(facts.position->batch));
    metadata.emplace(loader_key, std::to_string(facts.position->loader));
  }
  for (const auto& [name, number] : facts.numbers)
    metadata.emplace(std::string(number_prefix) + name, text_of(number));
  return metadata;
}

CheckpointFacts read_checkpoint_facts(const FileMetadata& metadata, const std::string& name) {
  const auto format = metadata.find(std::string(format_key));
  if (format == metadata.end() || format->second != format_version)
    refuse_file(name, "it is no checkpoint of this version",
                fmt::format("`{}` {}", format_key, format_version));
  CheckpointFacts facts{.step = value_at<std::int64_t>(metadata, step_key, name)};
  if (metadata.contains(std::string(epoch_key))) {
    facts.position = data::Position{.epoch = value_at<std::int64_t>(metadata, epoch_key, name),
                                    .batch = value_at<std::int64_t>(metadata, batch_key, name),
                                    .loader = value_at<std::uint64_t>(metadata, loader_key, name)};
  }
  for (const auto& [key, text] : metadata) {
    if (!key.starts_with(number_prefix)) continue;
    const auto whole = parsed<std::int64_t>(text);
    const Number number = whole ? Number(*whole) : Number(value_at<double>(metadata, key, name));
    facts.numbers.emplace(key.substr(number_prefix.size()), number);
  }
  return facts;
}

std::string checksum_of(const FileMetadata& metadata, std::vector<StoredTensor> tensors,
                        const ReadPiece& read) {
  constexpr std::uint64_t piece = std::uint64_t{1} << 22;
  std::uint64_t sum = 1;
  const auto add = [&](std::span<const std::byte> bytes) { sum = schedule::checksum(bytes, sum); };
  const auto add_text = [&](std::string_view text) { add(std::as_bytes(std::span(text))); };
  for (const auto& [key, value] : metadata) {
    if (key == checksum_key) continue;
    add_text(key);
    add_text(value);
  }
  std::ranges::sort(tensors, {}, &StoredTensor::name);
  std::vector<std::byte> buffer;
  for (const StoredTensor& stored : tensors) {
    add_text(stored.name);
    add_text(to_string(stored));
    const std::uint64_t bytes = stored.end - stored.begin;
    for (std::uint64_t done = 0; done < bytes; done += piece) {
      buffer.resize(std::min(piece, bytes - done));
      read(stored, done, buffer);
      add(buffer);
    }
  }
  return fmt::format("{:016x}", sum);
}

}  // namespace tidemark
