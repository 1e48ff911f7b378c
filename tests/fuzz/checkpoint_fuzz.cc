// Any bytes are either a clean Error or a file whose facts are written and read back as themselves. With
// the length of the header put right, so that mutations get past it.
#include <cstring>
#include <string>

#include "tests/fuzz/fuzz_entry.h"
#include "tidemark/base/check.h"
#include "tidemark/files/safetensors.h"
#include "tidemark/train/checkpoint_facts.h"

extern "C" int checkpoint_fuzz(const std::uint8_t* data, std::size_t size) {
  using tidemark::Error;
  std::string file(reinterpret_cast<const char*>(data), size);
  const std::size_t end = file.rfind('}');
  if (end == std::string::npos || end < 8) return 0;
  const std::uint64_t length = end + 1 - 8;
  std::memcpy(file.data(), &length, 8);
  try {
    const tidemark::SafetensorsFile parsed(tidemark::FileBytes::of(std::as_bytes(std::span(file)), "fuzz"));
    const auto facts = tidemark::read_checkpoint_facts(parsed.metadata(), "fuzz");
    const auto again = tidemark::checkpoint_metadata(facts);
    TM_CHECK(tidemark::checkpoint_metadata(tidemark::read_checkpoint_facts(again, "fuzz")) == again);
  } catch (const Error& error) {
    TM_CHECK(error.code() == tidemark::ErrorCode::bad_data_file, "{}", error.what());
  }
  return 0;
}
