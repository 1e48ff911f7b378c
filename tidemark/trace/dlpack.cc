#include "tidemark/trace/dlpack.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "tidemark/ir/limits.h"
#include "tidemark/kernel/copy.h"
#include "tidemark/trace/dlpack_abi.h"
#include "tidemark/trace/functions.h"
#include "tidemark/trace/storage.h"
#include "tidemark/trace/to_host.h"

namespace tidemark {
namespace {

constexpr std::uint32_t major_version = 1;

struct Element {
  DLDataTypeCode code;
  std::uint8_t bits;
  DType dtype;
};
// In the order of DType.
constexpr Element elements[] = {{kDLFloat, 32, DType::f32},   {kDLFloat, 64, DType::f64},
                                {kDLBfloat, 16, DType::bf16}, {kDLFloat, 16, DType::f16},
                                {kDLInt, 32, DType::i32},     {kDLInt, 64, DType::i64},
                                {kDLUInt, 8, DType::u8},      {kDLBool, 8, DType::boolean}};
static_assert(std::size(elements) == dtype_count);

std::string text_of(const DLDataType& type) {
  constexpr std::string_view names[] = {"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
  const std::string name =
      type.code < std::size(names) ? std::string(names[type.code]) : fmt::format("code {} of ", type.code);
  return fmt::format("{}{}{}", name, type.bits, type.lanes == 1 ? "" : fmt::format("x{}", type.lanes));
}

std::string text_of(const DLDevice& device) {
  constexpr std::string_view names[] = {
      "",    "CPU",  "CUDA",      "CUDA host", "OpenCL",       "",       "",       "Vulkan",  "Metal",
      "VPI", "ROCm", "ROCm host", "extension", "CUDA managed", "oneAPI", "WebGPU", "Hexagon", "MAIA"};
  const auto kind = static_cast<std::size_t>(device.device_type);
  if (kind < std::size(names) && !names[kind].empty())
    return fmt::format("{} device {}", names[kind], device.device_id);
  return fmt::format("device {} of unknown kind {}", device.device_id,
                     static_cast<std::int32_t>(device.device_type));
}

[[noreturn]] void refuse(std::string what, std::string expected, SourceLine where, std::string help = "") {
  fail(ErrorCode::bad_dlpack, {.what = "from_dlpack: " + std::move(what),
                               .expected = std::move(expected),
                               .where = where,
                               .help = std::move(help)});
}

DType dtype_of_dlpack(const DLDataType& type, SourceLine where) {
  const auto* found = std::ranges::find_if(
      elements, [&](const Element& e) { return e.code == type.code && e.bits == type.bits; });
  if (found == std::end(elements) || type.lanes != 1) {
    refuse(fmt::format("elements of type {}", text_of(type)),
           "f32, f64, bf16, f16, i32, i64, u8 or bool, one element in one lane", where,
           "convert the array in the library it comes from");
  }
  return found->dtype;
}

// Everything that can be known to be wrong without looking at the elements.
Type checked_type(const DLTensor& tensor, SourceLine where) {
  if (tensor.device.device_type != kDLCPU) {
    refuse(fmt::format("memory of {}", text_of(tensor.device)), "memory of the CPU", where,
           "copy the array to the CPU in the library it comes from");
  }
  if (tensor.ndim < 0 || tensor.ndim > max_rank) {
    refuse(fmt::format("{} dimensions", tensor.ndim), fmt::format("0 to {}", max_rank), where,
           "reshape the array in the library it comes from");
  }
  if (tensor.ndim > 0 && !tensor.shape) {
    refuse(fmt::format("{} dimensions and no shape", tensor.ndim), "as many sizes as dimensions", where);
  }
  const auto rank = static_cast<std::size_t>(tensor.ndim);
  const Type type{dtype_of_dlpack(tensor.dtype, where), Shape(std::span(tensor.shape, rank), where)};
  require_within_limits(type, "from_dlpack: ", where);
  if (type.count() > 0 && !tensor.data) {
    refuse(fmt::format("a tensor {} without memory", to_string(type)), "a pointer to its elements", where);
  }
  return type;
}

Strides strides_of(const DLTensor& tensor, const Shape& shape) {
  if (!tensor.strides) return dense_strides(shape);
  return Strides(std::span(tensor.strides, static_cast<std::size_t>(tensor.ndim)));
}

// The first element, where no address of any element is out of this world.
std::byte* first_element(const DLTensor& tensor, const Type& type, const Strides& strides, SourceLine where) {
  const std::int64_t size = size_of(type.dtype);
  const auto base = reinterpret_cast<std::uintptr_t>(tensor.data);
  std::uintptr_t first = 0, lowest = 0, highest = 0;
  std::int64_t below = 0, above = size;  // bytes
  bool wrong = __builtin_add_overflow(base, tensor.byte_offset, &first);
  for (int i = 0; i < type.rank(); ++i) {
    std::int64_t reach = 0;
    wrong |= __builtin_mul_overflow(type.shape[i] - 1, strides[i], &reach);
    wrong |= __builtin_mul_overflow(reach, size, &reach);
    wrong |= __builtin_add_overflow(reach < 0 ? below : above, reach, reach < 0 ? &below : &above);
  }
  wrong |= __builtin_add_overflow(first, below, &lowest) || __builtin_add_overflow(first, above, &highest);
  if (wrong) {
    refuse(fmt::format("strides {} or an offset of {} bytes of a tensor {} that reach beyond all memory",
                       to_string(strides), tensor.byte_offset, to_string(type)),
           "elements inside of the memory that `data` points to", where);
  }
  return static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
}

bool aligned(const std::byte* at, DType dtype) {
  return reinterpret_cast<std::uintptr_t>(at) % static_cast<std::uintptr_t>(size_of(dtype)) == 0;
}

bool sound_booleans(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b <= std::byte{1}; });
}

Tensor copied(const Type& type, std::byte* first, const Strides& strides, SourceLine where) {
  AlignedBytes copy = at_line(where, [&] { return allocate_aligned(type.bytes()); });
  if (aligned(first, type.dtype)) {
    ThreadPool alone(1);  // the pool of a device is the engine's
    copy_elements({copy.get(), type.dtype, type.shape, dense_strides(type.shape)},
                  {first, type.dtype, type.shape, strides}, alone);
  } else {
    const std::int64_t size = size_of(type.dtype);
    for (std::int64_t i = 0; i < type.count(); ++i) {
      std::memcpy(copy.get() + i * size, first + offset_at(type.shape, strides, i) * size,
                  static_cast<std::size_t>(size));
    }
  }
  if (type.dtype == DType::boolean) {
    const std::span bytes(copy.get(), static_cast<std::size_t>(type.bytes()));
    std::ranges::transform(bytes, bytes.begin(), [](std::byte b) { return std::byte{b != std::byte{0}}; });
  }
  return Tensor::from_storage(type, std::make_shared<Storage>(std::move(copy), type.bytes()));
}

template <class Managed>
ForeignOwner owner_of(Managed* managed) {
  return {managed, [](void* self) {
            auto* const given = static_cast<Managed*>(self);
            if (given->deleter) given->deleter(given);
          }};
}

// `owner` goes with the storage, or at the end of this function: after a copy, and when something throws.
Tensor imported(const DLTensor& tensor, ForeignOwner owner, bool read_only, SourceLine where) {
  const Type type = checked_type(tensor, where);
  if (type.count() == 0) return tensor_from_bytes(type, nullptr, where);
  const Strides strides = strides_of(tensor, type.shape);
  std::byte* const first = first_element(tensor, type, strides, where);
  const bool fits =
      is_dense(type.shape, strides) && aligned(first, type.dtype) &&
      (type.dtype != DType::boolean || sound_booleans({first, static_cast<std::size_t>(type.bytes())}));
  if (!fits) return copied(type, first, strides, where);
  ForeignMemory memory{.data = first, .read_only = read_only, .owner = std::move(owner)};
  return Tensor::from_storage(type, std::make_shared<Storage>(std::move(memory), type.bytes()));
}

[[noreturn]] void refuse_null(SourceLine where) {
  refuse("a null pointer", "a struct that another library has filled in", where);
}

// What to_dlpack gives away, and what keeps it valid.
template <class Managed>
struct Export {
  explicit Export(Reading held) : reading(std::move(held)) {}

  Managed managed = {};
  const Reading reading;  // of materialized memory: may end on any thread
  std::array<std::int64_t, max_rank> shape = {}, strides = {};
};

template <class Managed>
void give_back(Managed* self) {
  delete static_cast<Export<Managed>*>(self->manager_ctx);
}

template <class Managed>
Managed* exported(const Tensor& given, SourceLine where) {
  const Tensor tensor = to_host(given, where);  // a device's memory is not shared with other libraries
  {
    const Reading meanwhile = tensor.read(where);  // throws for what holds no data
    at_line(where, [&] { tensor.storage()->materialize(); });
  }
  const Type& type = tensor.type();
  auto made = std::make_unique<Export<Managed>>(tensor.read(where));
  std::ranges::copy(type.shape, made->shape.begin());
  std::ranges::copy(dense_strides(type.shape), made->strides.begin());
  const Element& element = elements[static_cast<std::size_t>(type.dtype)];
  made->managed.dl_tensor = {
      .data = type.count() == 0 ? nullptr : made->reading.data(),
      .device = {kDLCPU, 0},
      .ndim = type.rank(),
      .dtype = {static_cast<std::uint8_t>(element.code), element.bits, 1},
      .shape = made->shape.data(),
      .strides = made->strides.data(),
      .byte_offset = 0,
  };
  made->managed.manager_ctx = made.get();
  made->managed.deleter = give_back<Managed>;
  return &made.release()->managed;
}

}  // namespace

Tensor from_dlpack(DLManagedTensor* managed, SourceLine where) {
  if (!managed) refuse_null(where);
  const bool read_only = managed->deleter == give_back<DLManagedTensor>;  // a tensor of ours, a value
  return imported(managed->dl_tensor, owner_of(managed), read_only, where);
}

Tensor from_dlpack(DLManagedTensorVersioned* managed, SourceLine where) {
  if (!managed) refuse_null(where);
  ForeignOwner owner = owner_of(managed);
  if (managed->version.major != major_version) {
    refuse(fmt::format("DLPack version {}.{}", managed->version.major, managed->version.minor),
           fmt::format("major version {}", major_version), where,
           "ask the other library for an older version");
  }
  const bool read_only = (managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
  return imported(managed->dl_tensor, std::move(owner), read_only, where);
}

DLManagedTensor* to_dlpack(const Tensor& tensor, SourceLine where) {
  if (!tensor.is_data() || !tensor.storage()->read_only) return exported<DLManagedTensor>(tensor, where);
  const Reading reading = tensor.read(where);
  return exported<DLManagedTensor>(tensor_from_bytes(tensor.type(), reading.data(), where), where);
}

DLManagedTensorVersioned* to_dlpack_versioned(const Tensor& tensor, SourceLine where) {
  auto* const managed = exported<DLManagedTensorVersioned>(tensor, where);
  managed->version = {major_version, 0};
  managed->flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  return managed;
}

}  // namespace tidemark
