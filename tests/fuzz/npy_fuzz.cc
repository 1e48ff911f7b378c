// Any bytes are either a clean Error or an array that is read.
#include "tests/fuzz/fuzz_entry.h"
#include "tests/fuzz/read_archive.h"
#include "tidemark/files/npy.h"

extern "C" int npy_fuzz(const std::uint8_t* data, std::size_t size) {
  const std::string file(reinterpret_cast<const char*>(data), size);
  tidemark::testing::read_archive<tidemark::NpyFile>(file);
  return 0;
}
