#include "tidemark/files/archive.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "tidemark/files/file_bytes.h"
#include "tidemark/ir/limits.h"
#include "tidemark/trace/storage.h"

namespace tidemark {
namespace {

void require_booleans(const TensorArchive& archive, const StoredTensor& stored,
                      std::span<const std::byte> bytes) {
  const auto wrong = std::ranges::find_if(bytes, [](std::byte b) { return b > std::byte{1}; });
  if (wrong == bytes.end()) return;
  refuse_file(archive.name(),
              fmt::format("`{}` is BOOL and holds a byte {}", shown(stored.name), static_cast<int>(*wrong)),
              "0 or 1");
}

}  // namespace

std::string to_string(const StoredTensor& stored) {
  return fmt::format("{}[{}]", facts_of(stored.element).name, fmt::join(stored.shape, ", "));
}

const StoredTensor* TensorArchive::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(tensors_, name, {}, &StoredTensor::name);
  return found == tensors_.end() || found->name != name ? nullptr : &*found;
}

void TensorArchive::set_tensors(std::vector<StoredTensor> tensors) {
  tensors_ = std::move(tensors);
  std::ranges::sort(tensors_, {}, &StoredTensor::name);
  const auto twice = std::ranges::adjacent_find(tensors_, {}, &StoredTensor::name);
  if (twice != tensors_.end())
    refuse_file(name_, fmt::format("two tensors are named `{}`", shown(twice->name)), "names of their own");
}

Type TensorArchive::type_of(const StoredTensor& stored) const {
  const ElementFacts& facts = facts_of(stored.element);
  if (!facts.dtype) {
    refuse_file(name_,
                fmt::format("`{}` is {}, whose elements are not read", shown(stored.name), to_string(stored)),
                "F64, F32, F16, BF16, I64, I32, I16, I8, U64, U32, U16, U8 or BOOL",
                "convert it where it was written, or leave it out: `.skip`");
  }
  if (stored.shape.size() > max_rank) {
    refuse_file(name_, fmt::format("`{}` has {} dimensions", shown(stored.name), stored.shape.size()),
                fmt::format("at most {}", max_rank), "reshape it where it was written");
  }
  const Type type{*facts.dtype, Shape(std::span(stored.shape))};
  if (!within_limits(type)) {
    refuse_file(name_, fmt::format("`{}` claims the shape {}", shown(stored.name), to_string(type.shape)),
                "sizes that memory can hold");
  }
  return type;
}

Tensor TensorArchive::read(const StoredTensor& stored, DType as, bool map) const {
  Type type = type_of(stored);
  const bool as_is = is_stored_as_is(stored.element) && type.dtype == as;
  if (as_is && map && type.count() > 0) {
    if (auto there = map_bytes(stored)) {
      const std::span bytes(there.get(), static_cast<std::size_t>(type.bytes()));
      if (as == DType::boolean) require_booleans(*this, stored, bytes);
      auto* const data = const_cast<std::byte*>(there.get());  // read_only: nobody writes there
      auto held = std::make_unique<std::shared_ptr<const std::byte>>(std::move(there));
      ForeignOwner owner(held.release(),
                         [](void* p) { delete static_cast<std::shared_ptr<const std::byte>*>(p); });
      return Tensor::from_storage(
          type, std::make_shared<Storage>(
                    ForeignMemory{.data = data, .read_only = true, .owner = std::move(owner)}, type.bytes()));
    }
  }
  type.dtype = as;
  NewTensor made(type);
  if (as_is) {
    read_bytes(stored, made.bytes);
    if (as == DType::boolean) require_booleans(*this, stored, made.bytes);
    return std::move(made).tensor();
  }
  const auto size = static_cast<std::int64_t>(facts_of(stored.element).bits / 8) * type.count();
  const AlignedBytes staging = allocate_aligned(size);
  read_bytes(stored, {staging.get(), static_cast<std::size_t>(size)});
  if (const auto wrong =
          convert_elements(stored.element, staging.get(), as, made.bytes.data(), type.count())) {
    refuse_file(name_,
                fmt::format("`{}` is {}, and its element {} does not fit {}", shown(stored.name),
                            to_string(stored), *wrong, name_of(as)),
                range_text(as));
  }
  return std::move(made).tensor();
}

NewTensor::NewTensor(Type type) : type_(type), memory_(allocate_aligned(type.bytes())) {
  bytes = {memory_.get(), static_cast<std::size_t>(type.bytes())};
}

Tensor NewTensor::tensor() && {
  return Tensor::from_storage(type_, std::make_shared<Storage>(std::move(memory_), type_.bytes()));
}

std::optional<std::uint64_t> stored_bits(Element element, std::span<const std::int64_t> shape) {
  constexpr std::uint64_t most = std::uint64_t{1} << 60;
  std::uint64_t bits = static_cast<std::uint64_t>(facts_of(element).bits);
  bool nothing = false;
  for (const std::int64_t size : shape) {
    if (size < 0) return {};
    nothing |= size == 0;
    if (size > 0 && (__builtin_mul_overflow(bits, static_cast<std::uint64_t>(size), &bits) || bits > most))
      return {};
  }
  return nothing ? 0 : bits;
}

}  // namespace tidemark
