#include "tidemark/kernel/fused_code.h"

#include <sys/mman.h>

#include <cstring>
#include <mutex>

#include "tidemark/kernel/fused_signs.h"

namespace tidemark {

std::shared_ptr<const MachineCode> MachineCode::make(const CodeSegment& segment) {
  struct Known {
    CodeSegment segment;
    std::weak_ptr<const MachineCode> code;
  };
  static std::mutex mutex;
  static auto* known = new std::vector<Known>;
  const std::scoped_lock lock(mutex);
  std::erase_if(*known, [](const Known& k) { return k.code.expired(); });
  for (const Known& k : *known) {
    if (k.segment != segment) continue;
    if (auto code = k.code.lock()) return code;  // unless another thread has let go of it just now
  }
  const CodeText text = write_code(without_signs(segment));
  if (text.bytes.empty()) return nullptr;
  auto code = std::make_shared<const MachineCode>(text.bytes, text.elements);
  if (!code->function_) return nullptr;
  known->push_back({segment, code});
  return code;
}

// Written first, then made executable and no longer writable. A system that refuses leaves no function.
MachineCode::MachineCode(std::span<const std::uint8_t> instructions, int elements)
    : bytes_(instructions.size_bytes()), elements_(elements) {
  memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory_ == MAP_FAILED) {
    memory_ = nullptr;
    return;
  }
  std::memcpy(memory_, instructions.data(), bytes_);
  if (mprotect(memory_, bytes_, PROT_READ | PROT_EXEC) != 0) return;
  char* begin = static_cast<char*>(memory_);
  __builtin___clear_cache(begin, begin + bytes_);
  function_ = reinterpret_cast<Function>(memory_);
}

MachineCode::~MachineCode() {
  if (memory_) munmap(memory_, bytes_);
}

#if !defined(__aarch64__) && !defined(__x86_64__)
CodeText write_code(const CodeSegment&) { return {}; }
#endif

}  // namespace tidemark
