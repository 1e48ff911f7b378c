// Reads every tensor of an archive in memory: only clean Errors may come out, and what a file of its size can
// hold.
#pragma once
#include <string>

#include "tidemark/base/check.h"
#include "tidemark/files/archive.h"
#include "tidemark/files/file_bytes.h"

namespace tidemark::testing {

template <class Archive>
void read_archive(const std::string& file) {
  try {
    const Archive archive(FileBytes::of(std::as_bytes(std::span(file)), "fuzz"));
    for (const StoredTensor& stored : archive.tensors()) {
      try {
        const Tensor tensor = archive.read(stored);
        TM_CHECK(tensor.type() == archive.type_of(stored));
        // Eight times the bytes where elements are widened, a thousand times where they were deflated.
        TM_CHECK(static_cast<std::uint64_t>(tensor.type().bytes()) <= file.size() * 16000);
      } catch (const Error& error) {
        TM_CHECK(error.code() == ErrorCode::bad_data_file, "{}", error.what());
      }
    }
  } catch (const Error& error) {
    TM_CHECK(error.code() == ErrorCode::bad_data_file, "{}", error.what());
  }
}

}  // namespace tidemark::testing
