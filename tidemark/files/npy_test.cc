#include "tidemark/files/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/errors.h"
#include "tests/support/scratch_folder.h"
#include "tidemark/files/save_load.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using testing::code_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ScratchFolder;

std::string npy(const std::string& dict, const std::string& data, char version = 1) {
  std::string file = "\x93NUMPY";
  file += {version, '\0', static_cast<char>(dict.size() & 0xff), static_cast<char>(dict.size() >> 8)};
  if (version > 1) file += std::string(2, '\0');
  return file + dict + data;
}
std::string dict(const std::string& descr, const std::string& shape, const std::string& fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n";
}
Tensor parsed_npy(const std::string& file) {
  const NpyFile archive(FileBytes::of(std::as_bytes(std::span(file)), "x.npy"));
  return archive.read(archive.tensors()[0]);
}
std::string npy_refusal(const std::string& file) {
  try {
    parsed_npy(file);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_data_file);
    EXPECT_THAT(error.what(), HasSubstr("x.npy: "));
    return error.what();
  }
  return "accepted";
}

TEST(Npy, FilesWrittenByHandAreRead) {
  EXPECT_THAT(parsed_npy(npy(dict("<i2", "(3,)"), std::string("\1\0\xff\xff\0\x80", 6))).to_vector(),
              ElementsAre(1, -1, -32768));
  EXPECT_EQ(parsed_npy(npy(dict("<f4", "()"), std::string("\0\0\x80\x3f", 4))).item(), 1);
  EXPECT_EQ(parsed_npy(npy(dict("<f4", "(0, 3)"), "")).shape(), (Shape{0, 3}));
  for (const char version : {1, 2, 3})
    EXPECT_EQ(parsed_npy(npy(dict("|u1", "(1L,)"), "a", version)).item(), 'a');
  EXPECT_EQ(parsed_npy(npy("{\"shape\":(1,),\"descr\":\"|b1\",\"fortran_order\":False}", "\1")).dtype(),
            DType::boolean);
}

TEST(Npy, BigEndianElementsAreTurnedAround) {
  EXPECT_THAT(parsed_npy(npy(dict(">i4", "(2,)"), std::string("\0\0\0\1\xff\xff\xff\xfe", 8))).to_vector(),
              ElementsAre(1, -2));
  EXPECT_EQ(parsed_npy(npy(dict(">f8", "(1,)"), std::string("\x3f\xf8\0\0\0\0\0\0", 8))).item(), 1.5);
}

TEST(Npy, FortranOrderBecomesRowMajor) {
  const Tensor x = parsed_npy(npy(dict("|u1", "(2, 3)", "True"), "\1\4\2\5\3\6"));
  EXPECT_THAT(x.to_vector(), ElementsAre(1, 2, 3, 4, 5, 6));
  std::string data(2 * 3 * 4 * 2, '\0');
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k)
        data[static_cast<std::size_t>((i + 2 * j + 6 * k) * 2 + 1)] = static_cast<char>(12 * i + 4 * j + k);
  std::vector<double> expected(24);
  for (int i = 0; i < 24; ++i) expected[static_cast<std::size_t>(i)] = i;
  EXPECT_EQ(parsed_npy(npy(dict(">i2", "(2, 3, 4)", "True"), data)).to_vector(), expected);
}

TEST(Npy, WhatIsWrittenIsTheFormatToTheByte) {
  const ScratchFolder folder;
  save(folder.path("x.npy"), tensor<std::int32_t>({1, -1}));
  std::string text = "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }";
  text.append(128 - 10 - 1 - text.size(), ' ');
  EXPECT_EQ(folder.read("x.npy"), npy(text + "\n", std::string("\1\0\0\0\xff\xff\xff\xff", 8)));
}

TEST(Npy, EveryDtypeComesBackAndBf16IsRefused) {
  const ScratchFolder folder;
  for (const Tensor& x : {tensor({1.5, -0.0}), tensor({1.5f, 2.f}), tensor({Float16(1.5f)}),
                          tensor<std::int64_t>({INT64_MIN}), tensor<std::int32_t>({7}),
                          tensor<std::uint8_t>({255}), tensor({true, false}), zeros({2, 0, 3}), scalar(3)}) {
    for (const bool map : {false, true}) {
      save(folder.path("x.npy"), x);
      Tensor back;
      load(folder.path("x.npy"), back, {.map = map});
      ASSERT_EQ(back.type(), x.type());
      EXPECT_EQ(std::memcmp(back.bytes(), x.bytes(), static_cast<std::size_t>(x.type().bytes())), 0);
    }
  }
  EXPECT_EQ(code_of([&] { save(folder.path("y.npy"), tensor({BFloat16(1)})); }), ErrorCode::dtype_mismatch);
  EXPECT_EQ(code_of([&] { save(folder.path("y.npy"), std::pair(scalar(1), scalar(2))); }),
            ErrorCode::bad_attribute);
  EXPECT_EQ(code_of([&] { save(folder.path("y.npy"), scalar(1), {{"a", "b"}}); }), ErrorCode::bad_attribute);
}

TEST(Npy, HostileFilesAreRefusedWithTheReason) {
  EXPECT_THAT(npy_refusal(""), HasSubstr("does not begin"));
  EXPECT_THAT(npy_refusal("\x93NUMPX\1\0"), HasSubstr("does not begin"));
  EXPECT_THAT(npy_refusal(npy(dict("|u1", "(1,)"), "a", 4)), HasSubstr("version 4.0"));
  EXPECT_THAT(npy_refusal(npy(dict("|u1", "(2,)"), "a")), HasSubstr("2 bytes, and 1 are there"));
  EXPECT_THAT(npy_refusal(npy(dict("|u1", "(2,)"), "abc")), HasSubstr("nothing behind"));
  EXPECT_THAT(npy_refusal(npy(dict("|O", "(2,)"), "ab")), HasSubstr("pickled"));
  EXPECT_THAT(npy_refusal(npy(dict("<V2", "(1,)"), "ab")), HasSubstr("`<V2`"));
  EXPECT_THAT(npy_refusal(npy("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': ()}", "")),
              HasSubstr("records"));
  EXPECT_THAT(npy_refusal(npy(dict("|u1", "(4294967296, 4294967296, 0)"), "")), HasSubstr("more than any"));
  EXPECT_THAT(npy_refusal(npy(dict("|u1", "(99999999999999999999,)"), "")), HasSubstr("too large"));
  EXPECT_THAT(npy_refusal(npy(dict("|u1", "(-1,)"), "")), HasSubstr("not expected"));
  EXPECT_THAT(npy_refusal(npy(dict("|u1", "(1 1)"), "")), HasSubstr("not expected"));
  EXPECT_THAT(npy_refusal(npy(dict("|u1", "(1,)", "None"), "a")), HasSubstr("not expected"));
  EXPECT_THAT(npy_refusal(npy("{'descr': '|u1', 'descr': '|u1'}", "")), HasSubstr("twice"));
  EXPECT_THAT(npy_refusal(npy("{'descr': '|u1'}", "")), HasSubstr("missing"));
  EXPECT_THAT(npy_refusal(npy("{'descr': '|u1", "")), HasSubstr("does not end"));
  EXPECT_THAT(npy_refusal(npy("{'x': 1}", "")), HasSubstr("unknown field"));
  EXPECT_THAT(npy_refusal(npy(dict("|u1", "()") + "!", "a")), HasSubstr("`!`"));
  EXPECT_THAT(npy_refusal(std::string("\x93NUMPY\2\0\xff\xff\xff\xff{}", 14)), HasSubstr("a header of"));
  EXPECT_THAT(npy_refusal(npy(dict("|b1", "(1,)"), "\2")), HasSubstr("BOOL"));
  EXPECT_THAT(npy_refusal(npy(dict("|u1", "(1,1,1,1,1,1,1,1,1)"), "a")), HasSubstr("9 dimensions"));
}

}  // namespace
}  // namespace tidemark
