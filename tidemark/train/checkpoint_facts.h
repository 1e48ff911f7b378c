// What a checkpoint says beside its tensors, as metadata of a file and back, and the checksum of all of it.
#pragma once
#include <functional>

#include "tidemark/train/checkpoints.h"

namespace tidemark {

inline constexpr std::string_view checksum_key = "tidemark.checksum";

FileMetadata checkpoint_metadata(const CheckpointFacts& facts);
// Throws Error `bad_data_file`.
CheckpointFacts read_checkpoint_facts(const FileMetadata& metadata, const std::string& name);

// Gives the bytes of a tensor from `offset` on.
using ReadPiece =
    std::function<void(const StoredTensor& stored, std::uint64_t offset, std::span<std::byte> to)>;
// Of metadata (but for the checksum itself), names, types and bytes, as 16 digits.
std::string checksum_of(const FileMetadata& metadata, std::vector<StoredTensor> tensors,
                        const ReadPiece& read);

}  // namespace tidemark
