// Any bytes are either a clean Error or an array, as IDX and as CIFAR.
#include <functional>
#include <string>

#include "tests/fuzz/fuzz_entry.h"
#include "tidemark/base/check.h"
#include "tidemark/data/image_files.h"
#include "tidemark/files/file_bytes.h"

extern "C" int images_fuzz(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark;
  const auto clean = [](const std::function<void()>& read) {
    try {
      read();
    } catch (const Error& error) {
      TM_CHECK(error.code() == ErrorCode::bad_data_file, "{}", error.what());
    }
  };
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  clean([&] { data::read_idx(FileBytes::of(bytes, "fuzz")); });
  // What is short becomes one record of CIFAR and a part of another.
  std::string record(bytes.empty() ? 0 : 3073 + size % 2, '\0');
  std::copy_n(data, std::min(size, record.size()), record.begin());
  const FileBytes file = FileBytes::of(std::as_bytes(std::span(record)), "fuzz");
  for (const data::Cifar kind : {data::Cifar::ten, data::Cifar::hundred, data::Cifar::hundred_coarse})
    clean([&] { data::read_cifar(std::span(&file, 1), kind); });
  return 0;
}
