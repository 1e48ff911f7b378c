// An address in the memory of a device. Only that device follows it: on the host it is a pointer, elsewhere
// it need not be.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tidemark {

struct Address {
  std::uintptr_t value = 0;  // 0: nowhere

  explicit operator bool() const { return value != 0; }
  friend Address operator+(Address a, std::int64_t bytes) {
    return {a.value + static_cast<std::uintptr_t>(bytes)};
  }
  friend bool operator==(const Address&, const Address&) = default;
};

inline Address host_address(const void* memory) { return {reinterpret_cast<std::uintptr_t>(memory)}; }
inline std::vector<Address> host_addresses(std::span<std::byte* const> memory) {
  std::vector<Address> addresses;
  for (const std::byte* at : memory) addresses.push_back(host_address(at));
  return addresses;
}
// Of an address that the host's own device gave.
inline std::byte* host_pointer(Address address) { return reinterpret_cast<std::byte*>(address.value); }

}  // namespace tidemark
