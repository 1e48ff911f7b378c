// Whatever stands in the files beside a journal: a run that goes on from them gives the right gradient or a
// clean Error. And whatever bytes a type is loaded from: it is refused, or saved as the same bytes.
#include <array>

#include "tests/fuzz/crafted_run.h"
#include "tests/fuzz/fuzz_entry.h"

namespace {

using namespace tidemark::schedule;
using namespace tidemark::schedule::testing;

struct Inner {
  std::vector<float> values;
  std::int32_t count = 0;
  TM_FIELDS(Inner, values, count)
};
struct Outer {
  Inner inner;
  std::vector<std::array<double, 3>> points;
  std::uint8_t flag = 0;
  TM_FIELDS(Outer, inner, points, flag)
};

template <class T>
void load_and_save(std::span<const std::byte> bytes) {
  T value{};
  try {
    Snapshot<T>::load(value, bytes);
  } catch (const tidemark::Error&) {
    return;
  }
  std::vector<std::byte> back(Snapshot<T>::size(value));
  Snapshot<T>::save(value, back);
  TM_CHECK(back.size() == bytes.size() && std::equal(back.begin(), back.end(), bytes.begin()),
           "a value changes when it is loaded and saved");
}

}  // namespace

extern "C" int snapshots_fuzz(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  load_and_save<Outer>(bytes);
  load_and_save<Ring::Adjoint>(bytes);
  load_and_save<std::vector<double>>(bytes);
  load_and_save<double>(bytes);

  const CraftedRun& run = crafted_run(size % 2 == 0);
  run.go_on_after([&] {
    const auto& files = run.folder().files();
    for (const Edit& edit : edits_of(data, size)) {
      const std::string& name = files[edit.target % files.size()].first;
      if (!name.ends_with(".snapshot")) continue;
      std::string now = bytes_in(run.folder().path(name));
      if (edit.kind >> 5 == 7) {  // the bytes of another snapshot
        now = files[edit.at % files.size()].second;
      } else {
        apply(edit, now);
      }
      put_bytes(run.folder().path(name), now);
    }
  });
  return 0;
}
