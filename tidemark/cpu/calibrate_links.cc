#include "tidemark/cpu/calibrate_links.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <system_error>
#include <thread>

#include "tidemark/base/aligned.h"
#include "tidemark/base/error.h"
#include "tidemark/base/folder.h"
#include "tidemark/ir/codec.h"

namespace tidemark {
namespace {

constexpr std::int64_t file_bytes = 64 << 20, block_bytes = 4 << 20, small_bytes = 4096;
constexpr std::int64_t copied_bytes = 32 << 20;
constexpr int small_rounds = 16, copy_rounds = 4;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The time of day that `work` takes: what disks do is on no processor's account.
double seconds(const std::function<void()>& work) {
  const double begin = now();
  work();
  return std::max(now() - begin, 1e-9);
}

// While it lives, every thread of the pool computes, over more memory than caches hold.
class Busy {
 public:
  explicit Busy(CpuDevice& device)
      : values_(static_cast<std::size_t>(copied_bytes) / sizeof(float), 1.0f), thread_([this, &device] {
          const auto parts = static_cast<std::int64_t>(device.pool().threads());
          const auto size = static_cast<std::int64_t>(values_.size()) / parts;
          while (!stop_) {
            device.pool().run(parts, [&](std::int64_t part) {
              for (std::int64_t i = part * size; i < (part + 1) * size; ++i) {
                float& x = values_[static_cast<std::size_t>(i)];
                x = x * 0.999f + 0.001f;
              }
            });
          }
        }) {}
  ~Busy() {
    stop_ = true;
    thread_.join();
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  std::vector<float> values_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

[[noreturn]] void fail_disk(const std::string& folder, const std::string& why) {
  fail(ErrorCode::bad_file, {.what = fmt::format("the disk cannot be measured in {}: {}", folder, why),
                             .expected = fmt::format("a folder with {} bytes to write", file_bytes),
                             .help = "name another with --disk FOLDER, or leave it out"});
}

// A file without a name, past the system's own cache where that is allowed.
class DiskFile {
 public:
  explicit DiskFile(const std::string& path) : path_(path) {
    Result<Folder, std::string> folder = Folder::open(path);
    if (!folder) fail_disk(path, folder.error());
    file_ = folder.value().create_unnamed(O_DIRECT);
    if (!file_) file_ = folder.value().create_unnamed();
    if (!file_) fail_disk(path, std::generic_category().message(errno));
  }

  void write(std::span<const std::byte> bytes, std::int64_t offset) {
    if (const int error = write_fully(file_.get(), bytes, static_cast<std::uint64_t>(offset)))
      fail_disk(path_, std::generic_category().message(error));
  }
  void read(std::span<std::byte> bytes, std::int64_t offset) {
    std::size_t done = 0;
    const int error = read_fully(file_.get(), bytes, static_cast<std::uint64_t>(offset), done);
    if (error != 0 || done != bytes.size()) fail_disk(path_, std::generic_category().message(error));
  }
  // Has reached the disk, and is not kept in memory besides.
  void sync() {
    if (::fdatasync(file_.get()) != 0) fail_disk(path_, std::generic_category().message(errno));
    ::posix_fadvise(file_.get(), 0, 0, POSIX_FADV_DONTNEED);
  }
  std::int64_t free_bytes() const {
    struct statvfs system {};
    if (::fstatvfs(file_.get(), &system) != 0) return 1;
    return std::max<std::int64_t>(
        1, static_cast<std::int64_t>(system.f_bavail) * static_cast<std::int64_t>(system.f_frsize));
  }

 private:
  std::string path_;
  FileHandle file_;
};

struct DiskTimes {
  double write = 0, read = 0;  // of the whole file
};

DiskTimes stream(DiskFile& file, std::span<std::byte> block) {
  DiskTimes times;
  times.write = seconds([&] {
    for (std::int64_t at = 0; at < file_bytes; at += block_bytes) file.write(block, at);
    file.sync();
  });
  times.read = seconds([&] {
    for (std::int64_t at = 0; at < file_bytes; at += block_bytes) file.read(block, at);
  });
  return times;
}

double rate(double bytes, double time) { return bytes / time; }

void measure_copies(Machine& machine, CpuDevice& device) {
  const auto bytes = static_cast<std::size_t>(copied_bytes);
  std::vector<std::byte> from(bytes, std::byte{1}), to(bytes, std::byte{2});
  const auto copy = [&](std::size_t count) { std::memcpy(to.data(), from.data(), count); };
  const auto least = [&](std::size_t count) {
    double time = seconds([&] { copy(count); });
    for (int round = 1; round < copy_rounds; ++round) time = std::min(time, seconds([&] { copy(count); }));
    return time;
  };
  Link link{.latency = least(static_cast<std::size_t>(small_bytes)),
            .bandwidth = rate(static_cast<double>(bytes), least(bytes))};
  const Busy busy(device);
  link.beside_compute = rate(static_cast<double>(bytes), least(bytes));
  machine.links.push_back(link);
}

void measure_codecs(Machine& machine) {
  constexpr DType dtypes[] = {DType::f32, DType::boolean};
  for (const Codec& codec : codecs()) {
    for (DType dtype : dtypes) {
      const Type type{dtype, {(4 << 20) / size_of(dtype)}};
      if (!codec.takes(type)) continue;
      std::vector<std::byte> plain(static_cast<std::size_t>(type.bytes()), std::byte{1});
      std::vector<std::byte> coded(static_cast<std::size_t>(codec.bytes(type)));
      double encode = 1e9, decode = 1e9;
      for (int round = 0; round < copy_rounds; ++round) {
        encode = std::min(encode, seconds([&] { codec.encode(type, plain.data(), coded.data()); }));
        decode = std::min(decode, seconds([&] { codec.decode(type, coded.data(), plain.data()); }));
      }
      const auto bytes = static_cast<double>(type.bytes());
      machine.codecs.push_back(
          {.codec = std::string(codec.name), .encode = rate(bytes, encode), .decode = rate(bytes, decode)});
      break;
    }
  }
}

}  // namespace

void measure_disk(Machine& machine, CpuDevice& device, const std::string& folder) {
  DiskFile file(folder);
  const AlignedBytes memory = allocate_aligned(block_bytes + small_bytes);
  // O_DIRECT wants addresses that are multiples of a block of the disk.
  std::byte* const start =
      memory.get() + (small_bytes - reinterpret_cast<std::uintptr_t>(memory.get()) % small_bytes);
  const std::span<std::byte> block(start, static_cast<std::size_t>(block_bytes));
  for (std::size_t i = 0; i < block.size(); ++i) block[i] = static_cast<std::byte>(i * 2654435761u >> 13);

  const DiskTimes alone = stream(file, block);
  DiskTimes beside;
  {
    const Busy busy(device);
    beside = stream(file, block);
  }
  const auto small = block.first(static_cast<std::size_t>(small_bytes));
  const double write = seconds([&] {
    for (int i = 0; i < small_rounds; ++i) file.write(small, i * block_bytes);
  });
  file.sync();
  const double read = seconds([&] {
    for (int i = 0; i < small_rounds; ++i) file.read(small, i * block_bytes);
  });
  auto known = std::ranges::find(machine.further, disk_memory_name, &MachineMemory::name);
  if (known == machine.further.end())
    known = machine.further.insert(known, {.name = std::string(disk_memory_name)});
  known->bytes = file.free_bytes();
  const int disk = static_cast<int>(known - machine.further.begin()) + 1;
  std::erase_if(machine.links, [&](const Link& link) { return link.from == disk || link.to == disk; });
  const auto link = [&](int from, int to, double small_time, double all, double all_beside) {
    machine.links.push_back({.from = from,
                             .to = to,
                             .latency = small_time / small_rounds,
                             .bandwidth = rate(static_cast<double>(file_bytes), all),
                             .beside_compute = rate(static_cast<double>(file_bytes), all_beside)});
  };
  link(0, disk, write, alone.write, beside.write);
  link(disk, 0, read, alone.read, beside.read);
}

void measure_links(Machine& machine, CpuDevice& device, const std::string& disk_folder) {
  measure_copies(machine, device);
  if (!disk_folder.empty()) measure_disk(machine, device, disk_folder);
  measure_codecs(machine);
}

}  // namespace tidemark
