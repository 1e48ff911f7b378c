// Any bytes are either a clean Error or a file whose tensors are read, written and read back as themselves. A
// second time with the length of the header put right, so that mutations get past it.
#include <cstring>
#include <string>

#include "tests/fuzz/fuzz_entry.h"
#include "tests/fuzz/read_archive.h"
#include "tidemark/files/safetensors.h"

extern "C" int safetensors_fuzz(const std::uint8_t* data, std::size_t size) {
  using tidemark::SafetensorsFile;
  std::string file(reinterpret_cast<const char*>(data), size);
  tidemark::testing::read_archive<SafetensorsFile>(file);
  const std::size_t end = file.find("}}");
  if (size < 8 || end == std::string::npos || end < 8) return 0;
  const std::uint64_t length = end + 2 - 8;
  std::memcpy(file.data(), &length, 8);
  tidemark::testing::read_archive<SafetensorsFile>(file);
  return 0;
}
