#include "tidemark/trace/dlpack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <numeric>

#include "tests/support/foreign_array.h"
#include "tidemark/tidemark.h"
#include "tidemark/trace/storage.h"

namespace tidemark {
namespace {

using testing::ForeignArray;
using ::testing::HasSubstr;
using Doubles = std::vector<double>;

std::vector<float> counted(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

DLManagedTensor* lend_as(const Tensor& tensor, DLManagedTensor*) { return to_dlpack(tensor); }
DLManagedTensorVersioned* lend_as(const Tensor& tensor, DLManagedTensorVersioned*) {
  return to_dlpack_versioned(tensor);
}

// Everything that holds for both versions of the struct.
template <class Managed>
class Dlpack : public ::testing::Test {
 protected:
  static Managed* lend(const Tensor& tensor) { return lend_as(tensor, static_cast<Managed*>(nullptr)); }
  static Tensor take(ForeignArray& array) { return from_dlpack(array.template lend<Managed>()); }
};
using Versions = ::testing::Types<DLManagedTensor, DLManagedTensorVersioned>;
TYPED_TEST_SUITE(Dlpack, Versions);

TYPED_TEST(Dlpack, EveryDtypeGoesOutAndComesBackInItsOwnMemory) {
  const std::pair<DType, DLDataType> all_types[] = {
      {DType::f32, {kDLFloat, 32, 1}}, {DType::f64, {kDLFloat, 64, 1}},  {DType::bf16, {kDLBfloat, 16, 1}},
      {DType::f16, {kDLFloat, 16, 1}}, {DType::i32, {kDLInt, 32, 1}},    {DType::i64, {kDLInt, 64, 1}},
      {DType::u8, {kDLUInt, 8, 1}},    {DType::boolean, {kDLBool, 8, 1}}};
  static_assert(std::size(all_types) == dtype_count);
  for (const auto& [dtype, type] : all_types) {
    SCOPED_TRACE(name_of(dtype));
    const Tensor x = cast(reshape(arange(6), {2, 1, 3}), dtype);
    TypeParam* const lent = this->lend(x);
    const DLTensor& seen = lent->dl_tensor;
    EXPECT_EQ(seen.data, x.bytes());
    EXPECT_EQ(seen.device.device_type, kDLCPU);
    EXPECT_EQ(seen.device.device_id, 0);
    EXPECT_EQ(std::vector(seen.shape, seen.shape + seen.ndim), (std::vector<std::int64_t>{2, 1, 3}));
    EXPECT_EQ(std::vector(seen.strides, seen.strides + seen.ndim), (std::vector<std::int64_t>{3, 3, 1}));
    EXPECT_EQ(seen.byte_offset, 0u);
    EXPECT_EQ(std::tuple(seen.dtype.code, seen.dtype.bits, seen.dtype.lanes),
              std::tuple(type.code, type.bits, type.lanes));
    const Tensor back = from_dlpack(lent);
    EXPECT_EQ(back.type(), x.type());
    EXPECT_EQ(back.bytes(), x.bytes()) << "no copy in either direction";
    EXPECT_EQ(back.to_vector(), x.to_vector());
  }
}

TYPED_TEST(Dlpack, AnImportedTensorLiesInTheGivenMemoryUntilTheLastUserIsGone) {
  std::vector<float> values = counted(6);
  ForeignArray array(values.data(), {2, 3});
  {
    Tensor copy;
    {
      const Tensor x = this->take(array);
      EXPECT_EQ(x.data<float>().data(), values.data());
      EXPECT_EQ(x.type(), (Type{DType::f32, {2, 3}}));
      EXPECT_EQ(x.device(), DeviceId());
      EXPECT_TRUE(x.storage()->foreign());
      EXPECT_EQ((x * 2).to_vector(), (Doubles{0, 2, 4, 6, 8, 10}));
      copy = x;
    }
    EXPECT_EQ(copy.to_vector(), (Doubles{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(array.returned, 0);
  }
  EXPECT_EQ(array.returned, 1);
}

TYPED_TEST(Dlpack, DenseMemoryIsSharedHoweverItIsDescribed) {
  std::vector<double> values = {0, 1, 2, 3, 4, 5};
  ForeignArray plain(values), odd(values.data(), {2, 1, 3}), offset(values.data(), {2}),
      single(values.data(), {});
  plain.set_strides({1});
  odd.set_strides({3, -77, 1});  // a size of 1 has no use for a stride
  offset.tensor.byte_offset = 32;
  single.tensor.shape = nullptr;
  EXPECT_EQ(this->take(plain).template data<double>().data(), values.data());
  EXPECT_EQ(this->take(odd).template data<double>().data(), values.data());
  EXPECT_EQ(this->take(offset).template data<double>().data(), values.data() + 4);
  EXPECT_EQ(this->take(offset).to_vector(), (Doubles{4, 5}));
  EXPECT_EQ(this->take(single).template data<double>().data(), values.data());
  EXPECT_EQ(this->take(single).rank(), 0);
}

TYPED_TEST(Dlpack, OtherLayoutsAreCopiedAndGivenBackAtOnce) {
  std::vector<float> values = counted(12);
  struct Case {
    std::vector<std::int64_t> shape, strides;
    std::uint64_t offset;  // in elements
    Doubles seen;
  };
  const Case cases[] = {
      {{3, 2}, {1, 3}, 0, {0, 3, 1, 4, 2, 5}},  // a transpose
      {{4}, {3}, 0, {0, 3, 6, 9}},              // a column
      {{4}, {-1}, 3, {3, 2, 1, 0}},             // backwards
      {{2, 3}, {0, 1}, 1, {1, 2, 3, 1, 2, 3}},  // a row, repeated
      {{2, 2, 2}, {-6, 0, 2}, 7, {7, 9, 7, 9, 1, 3, 1, 3}},
  };
  for (const Case& c : cases) {
    ForeignArray array(values.data(), c.shape);
    array.set_strides(c.strides);
    array.tensor.byte_offset = 4 * c.offset;
    const Tensor x = this->take(array);
    EXPECT_EQ(x.to_vector(), c.seen);
    EXPECT_EQ(array.returned, 1);
    EXPECT_FALSE(x.storage()->foreign());
  }
}

TYPED_TEST(Dlpack, ElementsAtOddAddressesAreCopied) {
  alignas(64) std::byte bytes[64] = {};
  const double first[] = {1.5, 2.5, 3.5, 4.5};
  std::memcpy(bytes + 4, first, sizeof first);
  ForeignArray dense(reinterpret_cast<double*>(bytes), {4}), strided(reinterpret_cast<double*>(bytes), {2});
  dense.tensor.byte_offset = strided.tensor.byte_offset = 4;
  strided.set_strides({2});
  EXPECT_EQ(this->take(dense).to_vector(), (Doubles{1.5, 2.5, 3.5, 4.5}));
  EXPECT_EQ(this->take(strided).to_vector(), (Doubles{1.5, 3.5}));
  EXPECT_EQ(dense.returned, 1);
  EXPECT_EQ(strided.returned, 1);
}

TYPED_TEST(Dlpack, BooleansThatAreNeither0Nor1AreCopiedAsTrue) {
  std::vector<std::uint8_t> bytes = {0, 1, 2, 255, 0};
  ForeignArray array(bytes);
  array.tensor.dtype = {kDLBool, 8, 1};
  const Tensor x = this->take(array);
  EXPECT_EQ(x.dtype(), DType::boolean);
  EXPECT_EQ(sum(cast(x, DType::i64)).item(), 3);
  EXPECT_EQ(x.to_vector(), (Doubles{0, 1, 1, 1, 0}));
  EXPECT_EQ(array.returned, 1);
}

TYPED_TEST(Dlpack, TensorsWithoutElementsNeedNoMemory) {
  ForeignArray array(static_cast<float*>(nullptr), {3, 0});
  const Tensor x = this->take(array);
  EXPECT_EQ(x.shape(), (Shape{3, 0}));
  EXPECT_EQ(array.returned, 1);
  TypeParam* const lent = this->lend(x);
  EXPECT_EQ(lent->dl_tensor.data, nullptr);
  EXPECT_EQ(from_dlpack(lent).shape(), (Shape{3, 0}));
}

TYPED_TEST(Dlpack, WhatNoTensorCanBeIsRefusedAndGivenBack) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  struct Case {
    std::function<void(ForeignArray&)> spoil;
    ErrorCode code;
    std::string says;
  };
  const auto as = [](std::uint8_t code, std::uint8_t bits, std::uint16_t lanes) {
    return [=](ForeignArray& a) { a.tensor.dtype = {code, bits, lanes}; };
  };
  const auto on = [](int kind) {
    return [=](ForeignArray& a) { a.tensor.device = {static_cast<DLDeviceType>(kind), 1}; };
  };
  const auto shaped = [](std::int64_t m, std::int64_t n) {
    return [=](ForeignArray& a) { a.shape = {m, n}, a.tensor.shape = a.shape.data(); };
  };
  const auto strided = [](std::int64_t m, std::int64_t n) {
    return [=](ForeignArray& a) { a.set_strides({m, n}); };
  };
  const Case cases[] = {
      {as(kDLComplex, 64, 1), ErrorCode::bad_dlpack, "elements of type complex64"},
      {as(kDLFloat, 32, 4), ErrorCode::bad_dlpack, "float32x4"},
      {as(kDLFloat, 32, 0), ErrorCode::bad_dlpack, "float32x0"},
      {as(kDLInt, 4, 1), ErrorCode::bad_dlpack, "int4"},
      {as(kDLUInt, 64, 1), ErrorCode::bad_dlpack, "uint64"},
      {as(kDLBool, 1, 1), ErrorCode::bad_dlpack, "bool1"},
      {as(kDLOpaqueHandle, 64, 1), ErrorCode::bad_dlpack, "handle64"},
      {as(200, 8, 1), ErrorCode::bad_dlpack, "code 200 of 8"},
      {on(kDLCUDA), ErrorCode::bad_dlpack, "memory of CUDA device 1"},
      {on(0), ErrorCode::bad_dlpack, "unknown kind 0"},
      {on(-5), ErrorCode::bad_dlpack, "unknown kind -5"},
      {on(5), ErrorCode::bad_dlpack, "unknown kind 5"},
      {on(1000), ErrorCode::bad_dlpack, "unknown kind 1000"},
      {[](ForeignArray& a) { a.tensor.ndim = 9; }, ErrorCode::bad_dlpack, "9 dimensions"},
      {[](ForeignArray& a) { a.tensor.ndim = -1; }, ErrorCode::bad_dlpack, "-1 dimensions"},
      {[](ForeignArray& a) { a.tensor.shape = nullptr; }, ErrorCode::bad_dlpack, "no shape"},
      {[](ForeignArray& a) { a.tensor.data = nullptr; }, ErrorCode::bad_dlpack, "without memory"},
      {shaped(-1, 2), ErrorCode::bad_attribute, "f32[-1, 2]"},
      {shaped(-1, -6), ErrorCode::bad_attribute, "sizes of 0 or more"},
      {shaped(least, 1), ErrorCode::bad_attribute, "sizes of 0 or more"},
      {shaped(most, 2), ErrorCode::out_of_memory, "too large"},
      {shaped(std::int64_t{1} << 32, std::int64_t{1} << 32), ErrorCode::out_of_memory, "too large"},
      {shaped(0, most), ErrorCode::out_of_memory, "too large"},
      {strided(most, 1), ErrorCode::bad_dlpack, "beyond all memory"},
      {strided(1, least), ErrorCode::bad_dlpack, "beyond all memory"},
      {strided(most / 4, most / 4), ErrorCode::bad_dlpack, "beyond all memory"},
      {strided(-(std::int64_t{1} << 60), 1), ErrorCode::bad_dlpack, "beyond all memory"},
      {[](ForeignArray& a) { a.tensor.byte_offset = ~std::uint64_t{0} - 64; }, ErrorCode::bad_dlpack,
       "beyond all memory"},
  };
  std::vector<float> values = counted(6);
  for (const Case& c : cases) {
    SCOPED_TRACE(c.says);
    ForeignArray array(values.data(), {3, 2});
    c.spoil(array);
    try {
      this->take(array);
      ADD_FAILURE() << "taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), c.code);
      EXPECT_THAT(error.what(), HasSubstr(c.says));
      EXPECT_THAT(error.what(), HasSubstr("dlpack_test.cc:"));
    }
    EXPECT_EQ(array.returned, 1);
  }
}

TYPED_TEST(Dlpack, ACopyThatTheMachineHasNoRoomForIsAnErrorAndGivenBack) {
  std::vector<float> values = counted(1);
  ForeignArray array(values.data(), {std::int64_t{1} << 45});
  array.set_strides({0});  // the one element, repeated
  EXPECT_THROW(this->take(array), DeviceError);
  EXPECT_EQ(array.returned, 1);
}

TYPED_TEST(Dlpack, StructsMayHaveNoDeleterButMustBeThere) {
  std::vector<float> values = counted(2);
  ForeignArray array(values);
  const std::unique_ptr<TypeParam> managed(array.lend<TypeParam>());
  managed->deleter = nullptr;
  EXPECT_EQ(from_dlpack(managed.get()).to_vector(), (Doubles{0, 1}));
  try {
    from_dlpack(static_cast<TypeParam*>(nullptr));
    FAIL() << "taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_dlpack);
    EXPECT_THAT(error.what(), HasSubstr("a null pointer"));
  }
}

TYPED_TEST(Dlpack, AnExportKeepsTheMemoryUntilItIsGivenBack) {
  std::weak_ptr<Storage> storage;
  TypeParam* lent = nullptr;
  {
    const Tensor x = tensor<float>({1, 2, 3});
    storage = x.storage();
    lent = this->lend(x);
  }
  EXPECT_FALSE(storage.expired());
  EXPECT_EQ(static_cast<const float*>(lent->dl_tensor.data)[2], 3);
  lent->deleter(lent);
  EXPECT_TRUE(storage.expired());
}

TYPED_TEST(Dlpack, AnExportOfAnImportKeepsTheForeignMemory) {
  std::vector<float> values = counted(3);
  ForeignArray array(values);
  TypeParam* const lent = this->lend(this->take(array));
  EXPECT_EQ(lent->dl_tensor.data, values.data());
  EXPECT_EQ(array.returned, 0);
  lent->deleter(lent);
  EXPECT_EQ(array.returned, 1);
}

TYPED_TEST(Dlpack, ATensorThatComesBackIsStillAValueThatNobodyMayWrite) {
  const Tensor x = tensor<float>({1, 2, 3});
  EXPECT_TRUE(from_dlpack(this->lend(x)).storage()->read_only);
}

TYPED_TEST(Dlpack, OnlyTensorsThatHoldDataCanBeExported) {
  EXPECT_THROW(this->lend(Tensor()), Error);
  EXPECT_THROW(this->lend(Tensor::of_type({DType::f32, {2}})), Error);
  EXPECT_THROW(grad([&](Tensor x) { return this->lend(x), sum(x); })(tensor<float>({1, 2})), Error);
}

TEST(DlpackVersioned, OnlyTheMajorVersionThatWeKnowIsTaken) {
  std::vector<float> values = counted(3);
  ForeignArray later(values), newer(values), older(values);
  later.version = {1, 7};
  newer.version = {2, 0};
  older.version = {0, 8};
  EXPECT_EQ(from_dlpack(later.lend<DLManagedTensorVersioned>()).to_vector(), (Doubles{0, 1, 2}));
  try {
    from_dlpack(newer.lend<DLManagedTensorVersioned>());
    FAIL() << "taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_dlpack);
    EXPECT_THAT(error.what(), HasSubstr("DLPack version 2.0"));
  }
  EXPECT_THROW(from_dlpack(older.lend<DLManagedTensorVersioned>()), Error);
  EXPECT_EQ(newer.returned, 1);
  EXPECT_EQ(older.returned, 1);
}

TEST(DlpackVersioned, ExportsSayThatTheyMustNotBeWritten) {
  DLManagedTensorVersioned* const lent = to_dlpack_versioned(tensor<float>({1, 2}));
  EXPECT_EQ(lent->version.major, 1u);
  EXPECT_EQ(lent->flags, DLPACK_FLAG_BITMASK_READ_ONLY);
  const Tensor back = from_dlpack(lent);
  EXPECT_TRUE(back.storage()->read_only);
}

TEST(DlpackVersioned, ReadOnlyMemoryIsCopiedForTheStructThatCannotSaySo) {
  std::vector<float> values = counted(3);
  ForeignArray array(values), copied(values);
  array.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  copied.flags = DLPACK_FLAG_BITMASK_IS_COPIED;
  const Tensor x = from_dlpack(array.lend<DLManagedTensorVersioned>());
  EXPECT_TRUE(x.storage()->read_only);
  EXPECT_FALSE(from_dlpack(copied.lend<DLManagedTensorVersioned>()).storage()->read_only);
  DLManagedTensorVersioned* const shared = to_dlpack_versioned(x);
  EXPECT_EQ(shared->dl_tensor.data, values.data());
  shared->deleter(shared);
  DLManagedTensor* const own = to_dlpack(x);
  EXPECT_NE(own->dl_tensor.data, values.data());
  EXPECT_EQ(static_cast<const float*>(own->dl_tensor.data)[2], 2);
  own->deleter(own);
}

}  // namespace
}  // namespace tidemark
