#include "tidemark/base/attrs.h"

#include <gtest/gtest.h>

#include <cstring>

#include <cmath>

#include "tidemark/base/error.h"

namespace tidemark {
namespace {

struct Window {
  Dims size = {3, 3};
  std::int64_t groups = 1;
  double epsilon = 1e-5;
  bool keep = true;
  std::string mode = "same";
  DType dtype = DType::f16;
  IntList parts = {};
  Literal fill = {};
  TM_FIELDS(Window, size, groups, epsilon, keep, mode, dtype, parts, fill)
};
struct Other {
  std::int64_t only = 0;
  TM_FIELDS(Other, only)
};

TEST(Attrs, PackAndUnpackAreInverse) {
  Window window;
  window.groups = 4;
  window.parts = {1, 2, 3};
  window.fill = {.dtype = DType::u8, .shape = {1}, .bytes = {std::byte{7}}};
  const auto back = unpack<Window>(pack(window));
  EXPECT_EQ(back.size, window.size);
  EXPECT_EQ(back.groups, 4);
  EXPECT_EQ(back.epsilon, 1e-5);
  EXPECT_TRUE(back.keep);
  EXPECT_EQ(back.mode, "same");
  EXPECT_EQ(back.dtype, DType::f16);
  EXPECT_EQ(back.parts, window.parts);
  EXPECT_EQ(back.fill, window.fill);
  EXPECT_TRUE(pack(NoAttrs{}).empty());
}

TEST(Attrs, TheSchemaHoldsNamesAndDefaults) {
  const AttrSchema& schema = schema_of<Window>();
  ASSERT_EQ(schema.size(), 8u);
  EXPECT_EQ(schema[0].name, "size");
  EXPECT_EQ(schema[2].name, "epsilon");
  EXPECT_EQ(std::get<double>(schema[2].default_value), 1e-5);
  EXPECT_TRUE(schema_of<NoAttrs>().empty());
}

TEST(Attrs, UnpackingAnotherStructIsOurBug) {
  EXPECT_THROW(unpack<Other>(pack(Window{})), InternalError);
  EXPECT_THROW(unpack<Other>(Attrs{}), InternalError);
  EXPECT_THROW(unpack<NoAttrs>(pack(Other{})), InternalError);
}

TEST(Attrs, EqualityIsByBits) {
  EXPECT_TRUE(same_attrs({NAN}, {NAN}));
  EXPECT_FALSE(same_attrs({0.0}, {-0.0}));
  EXPECT_FALSE(same_attrs({std::int64_t{1}}, {true}));
  EXPECT_FALSE(same_attrs({true}, {}));
  EXPECT_FALSE(same_attrs({Dims{1}}, {IntList{1}}));
  EXPECT_TRUE(same_attrs(pack(Window{}), pack(Window{})));
}

TEST(Attrs, EqualAttributesHashEqually) {
  EXPECT_EQ(hash_attrs(pack(Window{})), hash_attrs(pack(Window{})));
  EXPECT_EQ(hash_attrs({NAN}), hash_attrs({NAN}));
  Window other;
  other.parts = {1};
  EXPECT_NE(hash_attrs(pack(Window{})), hash_attrs(pack(other)));
  EXPECT_NE(hash_attrs({0.0}), hash_attrs({-0.0}));
}

TEST(Fields, VisitsMembersInOrderAndInPlace) {
  Window window;
  std::string names;
  for_each_field(window, [&](std::string_view name, auto& field) {
    names += std::string(name) + " ";
    if constexpr (std::is_same_v<decltype(field), std::int64_t&>) field = 9;
  });
  EXPECT_EQ(names, "size groups epsilon keep mode dtype parts fill ");
  EXPECT_EQ(window.groups, 9);
  EXPECT_TRUE(HasFields<Window>);
  EXPECT_FALSE(HasFields<int>);
}

struct Wide {
  int a = 1, b = 1, c = 1, d = 1, e = 1, f = 1, g = 1, h = 1, i = 1, j = 1, k = 1, l = 1;
  TM_FIELDS(Wide, a, b, c, d, e, f, g, h, i, j, k, l)
};
TEST(Fields, TakesADozenMembers) {
  int sum = 0;
  const Wide wide;
  for_each_field(wide, [&](std::string_view, int field) { sum += field; });
  EXPECT_EQ(sum, 12);
}

TEST(Attrs, LiteralsOfSixteenBitsRoundOnce) {
  // 1 + 2⁻⁸ is a tie of bf16. Just above it, f32 would round to the tie first, and the tie to even goes down.
  const double tie = 1 + 0x1p-8, above = tie + 0x1p-40;
  const auto bits = [](const Literal& literal) {
    std::uint16_t word;
    std::memcpy(&word, literal.bytes.data(), sizeof(word));
    return word;
  };
  EXPECT_EQ(bits(scalar_literal(DType::bf16, tie)), 0x3f80);
  EXPECT_EQ(bits(scalar_literal(DType::bf16, above)), 0x3f81);
  EXPECT_EQ(bits(scalar_literal(DType::f16, 1 + 0x1p-11)), 0x3c00);
  EXPECT_EQ(bits(scalar_literal(DType::f16, 1 + 0x1p-11 + 0x1p-40)), 0x3c01);
}

}  // namespace
}  // namespace tidemark
