#include "tidemark/files/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "tests/support/errors.h"
#include "tests/support/scratch_folder.h"
#include "tidemark/files/save_load.h"
#include "tidemark/tidemark.h"
#include "tidemark/trace/storage.h"

namespace tidemark {
namespace {

using testing::code_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ScratchFolder;

std::string file_of(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  std::string file(reinterpret_cast<const char*>(&length), 8);
  return file + header + data;
}

SafetensorsFile parsed(std::string&& file) = delete;  // it is read where it lies
SafetensorsFile parsed(const std::string& file) {
  return SafetensorsFile(FileBytes::of(std::as_bytes(std::span(file)), "model.safetensors"));
}

// What a file that is wrong is refused with.
std::string refusal(const std::string& file) {
  try {
    parsed(file);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_data_file);
    EXPECT_THAT(error.what(), HasSubstr("model.safetensors: "));
    return error.what();
  }
  return "accepted";
}
std::string refusal(const std::string& header, const std::string& data) {
  return refusal(file_of(header, data));
}

// Written by hand, byte by byte, as the format says: three tensors and metadata.
const std::string by_hand =
    std::string("\xca\0\0\0\0\0\0\0", 8) +
    R"({"__metadata__":{"format":"pt"},"a.w":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
    R"("b":{"dtype":"BF16","shape":[],"data_offsets":[8,10]},"c":{"dtype":"BOOL","shape":[2],"data_offsets":[10,12]}})"
    "   " +
    std::string("\0\0\x80\x3f\0\0\0\xc0\x40\x40\0\x01", 12);

TEST(Safetensors, FilesWrittenByHandAreRead) {
  const SafetensorsFile file = parsed(by_hand);
  EXPECT_EQ(file.metadata(), (FileMetadata{{"format", "pt"}}));
  ASSERT_EQ(file.tensors().size(), 3u);
  EXPECT_THAT(file.read(*file.find("a.w")).to_vector(), ElementsAre(1, -2));
  EXPECT_EQ(file.read(*file.find("a.w")).shape(), (Shape{2, 1}));
  EXPECT_EQ(file.read(*file.find("b")).item(), 3);
  EXPECT_EQ(file.read(*file.find("b")).dtype(), DType::bf16);
  EXPECT_THAT(file.read(*file.find("c")).to_vector(), ElementsAre(0, 1));
  EXPECT_EQ(file.find("a"), nullptr);
}

TEST(Safetensors, WhatIsWrittenIsTheFormatToTheByte) {
  const ScratchFolder folder;
  const std::vector<NamedTensor> tensors = {{"small", tensor<std::uint8_t>({7, 8, 9})},
                                            {"large", tensor({1.0, -0.5})}};
  write_safetensors(folder.path("x"), tensors, {{"note", "a \"quoted\" word"}}, {});
  std::string header =
      R"({"__metadata__":{"note":"a \"quoted\" word"},"large":{"dtype":"F64","shape":[2],"data_offsets":[0,16]},)"
      R"("small":{"dtype":"U8","shape":[3],"data_offsets":[16,19]}})";
  header.append((64 - (header.size() + 8) % 64) % 64, ' ');
  const double large[] = {1.0, -0.5};
  EXPECT_EQ(folder.read("x"),
            file_of(header, std::string(reinterpret_cast<const char*>(large), 16) + "\7\10\11"));
}

TEST(Safetensors, EveryDtypeAndShapeComesBackToTheBit) {
  const ScratchFolder folder;
  const float inf = INFINITY, nan = NAN;
  std::vector<NamedTensor> tensors = {
      {"f32", tensor({0.0f, -0.0f, inf, -inf, nan, 1e-45f, 3e38f})},
      {"f64", tensor({-0.0, 5e-324, 1e308, std::nan("7"), -HUGE_VAL})},
      {"f16", tensor({Float16(1.5f), Float16(inf), Float16(nan), Float16(6e-8f)})},
      {"bf16", tensor({BFloat16(1.5f), BFloat16(-inf), BFloat16(nan)})},
      {"i32", tensor<std::int32_t>({INT32_MIN, -1, 0, INT32_MAX})},
      {"i64", tensor<std::int64_t>({INT64_MIN, -1, INT64_MAX})},
      {"u8", tensor<std::uint8_t>({0, 255})},
      {"bool", tensor({true, false, true})},
      {"scalar", scalar(4)},
      {"nothing", zeros({0})},
      {"nothing_wide", zeros({3, 0, 2}, DType::i64)},
      {"deep", zeros({1, 2, 1, 1, 1, 1, 1, 3})},
      {"naïve 名前 \"\\\n", scalar(5)},
  };
  write_safetensors(folder.path("all"), tensors, {}, {});
  for (const bool map : {false, true}) {
    const SafetensorsFile file = SafetensorsFile::open(folder.path("all"), {});
    EXPECT_EQ(file.tensors().size(), tensors.size());
    for (const auto& [name, tensor] : tensors) {
      const StoredTensor* stored = file.find(name);
      ASSERT_TRUE(stored) << name;
      const Tensor back = file.read(*stored, file.type_of(*stored).dtype, map);
      ASSERT_EQ(back.type(), tensor.type()) << name;
      EXPECT_EQ(std::memcmp(back.bytes(), tensor.bytes(), static_cast<std::size_t>(tensor.type().bytes())), 0)
          << name;
      EXPECT_EQ(back.storage()->read_only, map && tensor.count() > 0) << name;
    }
  }
}

TEST(Safetensors, IntegersThatWeDoNotHaveAreLoadedAsTheNextLarger) {
  const std::string header =
      R"({"i8":{"dtype":"I8","shape":[2],"data_offsets":[0,2]},"i16":{"dtype":"I16","shape":[1],"data_offsets":[2,4]},)"
      R"("u16":{"dtype":"U16","shape":[1],"data_offsets":[4,6]},"u32":{"dtype":"U32","shape":[1],"data_offsets":[6,10]},)"
      R"("u64":{"dtype":"U64","shape":[1],"data_offsets":[10,18]}})";
  const std::string data("\x80\x7f\0\x80\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 18);
  const std::string bytes = file_of(header, data);
  const SafetensorsFile file = parsed(bytes);
  EXPECT_THAT(file.read(*file.find("i8")).to_vector(), ElementsAre(-128, 127));
  EXPECT_EQ(file.read(*file.find("i8")).dtype(), DType::i32);
  EXPECT_EQ(file.read(*file.find("i16")).item(), -32768);
  EXPECT_EQ(file.read(*file.find("u16")).item(), 65535);
  EXPECT_EQ(file.read(*file.find("u32")).item(), 4294967295);
  EXPECT_EQ(file.read(*file.find("u64")).item<std::int64_t>(), INT64_MAX);

  std::string too_large = data;
  too_large.back() = '\x80';
  const std::string other_bytes = file_of(header, too_large);
  const SafetensorsFile other = parsed(other_bytes);
  EXPECT_EQ(code_of([&] { other.read(*other.find("u64")); }), ErrorCode::bad_data_file);
}

TEST(Safetensors, ElementsThatCannotBeReadAreRefusedOnlyWhenTheyAreWanted) {
  const std::string header =
      R"({"q":{"dtype":"F8_E4M3","shape":[3],"data_offsets":[0,3]},"s":{"dtype":"F4","shape":[2],"data_offsets":[3,4]},)"
      R"("w":{"dtype":"U8","shape":[1],"data_offsets":[4,5]}})";
  const std::string bytes = file_of(header, "abcde");
  const SafetensorsFile file = parsed(bytes);
  EXPECT_EQ(file.read(*file.find("w")).item(), 'e');
  EXPECT_EQ(code_of([&] { file.read(*file.find("q")); }), ErrorCode::bad_data_file);
  EXPECT_EQ(code_of([&] { file.read(*file.find("s")); }), ErrorCode::bad_data_file);
}

TEST(Safetensors, HostileFilesAreRefusedWithTheReason) {
  const auto one = [](const std::string& fields) { return "{\"x\":{" + fields + "}}"; };
  EXPECT_THAT(refusal(""), HasSubstr("too few"));
  EXPECT_THAT(refusal("1234567"), HasSubstr("too few"));
  EXPECT_THAT(refusal(std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10)), HasSubstr("announced"));
  EXPECT_THAT(refusal(std::string("\1\xe1\xf5\5\0\0\0\0{}", 10)), HasSubstr("limit of safetensors"));
  EXPECT_THAT(refusal(std::string("\3\0\0\0\0\0\0\0{}", 10)), HasSubstr("cut off"));
  EXPECT_THAT(refusal(std::string(8, '\0')), HasSubstr("begin with"));
  EXPECT_THAT(refusal("[]", ""), HasSubstr("begin with"));
  EXPECT_THAT(refusal("{", ""), HasSubstr("not JSON"));
  EXPECT_THAT(refusal("{}x", ""), HasSubstr("not JSON"));
  EXPECT_THAT(refusal("{\"a\xff\":1}", ""), HasSubstr("not JSON"));
  EXPECT_THAT(refusal("{\"x\":1}", ""), HasSubstr("not an object"));
  EXPECT_THAT(refusal("{\"x\":" + std::string(200000, '['), ""), HasSubstr("nests deeper"));
  EXPECT_THAT(refusal(one(R"("dtype":"F32","shape":[1])"), "0123"), HasSubstr("data_offsets"));
  EXPECT_THAT(refusal(one(R"("dtype":"F32","shape":[1],"data_offsets":[0,4],"more":1)"), "0123"),
              HasSubstr("more"));
  EXPECT_THAT(refusal(one(R"("dtype":"F32","shape":[1],"data_offsets":[0,4],"extra":{"a":[[1]]})"), "0123"),
              HasSubstr("unknown field `extra`"));
  EXPECT_THAT(refusal(one(R"("dtype":"F33","shape":[1],"data_offsets":[0,4])"), "0123"), HasSubstr("F33"));
  EXPECT_THAT(refusal(one(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])"), "0123"),
              HasSubstr("out of range"));
  EXPECT_THAT(refusal(one(R"("dtype":"F32","shape":[1.5],"data_offsets":[0,4])"), "0123"),
              HasSubstr("whole number"));
  EXPECT_THAT(refusal(one(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])"), "0123"),
              HasSubstr("8 bytes, and 4 are said"));
  EXPECT_THAT(refusal(one(R"("dtype":"F32","shape":[1],"data_offsets":[4,0])"), "0123"),
              HasSubstr("begin and end"));
  EXPECT_THAT(refusal(one(R"("dtype":"F32","shape":[1],"data_offsets":[0,4,4])"), "0123"),
              HasSubstr("begin and end"));
  EXPECT_THAT(refusal(one(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])"), "012"), HasSubstr("cut off"));
  EXPECT_THAT(refusal(one(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])"), "01234"),
              HasSubstr("belong to none"));
  EXPECT_THAT(refusal(one(R"("dtype":"F32","shape":[1],"data_offsets":[1,5])"), "01234"),
              HasSubstr("belong to no tensor"));
  EXPECT_THAT(refusal(one(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0])"), ""),
              HasSubstr("more than any file"));
  EXPECT_THAT(refusal(one(R"("dtype":"F32","shape":[0,4294967296,4294967296],"data_offsets":[0,0])"), ""),
              HasSubstr("more than any file"));
  EXPECT_THAT(
      refusal(one(R"("dtype":"U8","shape":[9223372036854775807],"data_offsets":[0,9223372036854775807])"),
              ""),
      HasSubstr("more than any file"));
  EXPECT_THAT(refusal(one(R"("dtype":"U8","shape":[18446744073709551617],"data_offsets":[0,1])"), "x"),
              HasSubstr("whole number"));
  const std::string x = R"("dtype":"U8","shape":[2],"data_offsets":[0,2])",
                    y = R"("dtype":"U8","shape":[2],"data_offsets":[1,3])";
  EXPECT_THAT(refusal("{\"x\":{" + x + "},\"y\":{" + y + "}}", "abc"), HasSubstr("`x` and `y` overlap"));
  EXPECT_THAT(refusal("{\"x\":{" + x + "},\"y\":{" + x + "}}", "ab"), HasSubstr("overlap"));
  const std::string z = R"("dtype":"U8","shape":[0],"data_offsets":[2,2])";
  EXPECT_THAT(refusal("{\"x\":{" + x + "},\"x\":{" + z + "}}", "ab"), HasSubstr("two tensors are named `x`"));
  EXPECT_THAT(refusal(one(R"("dtype":"U8","dtype":"U8","shape":[2],"data_offsets":[0,2])"), "ab"),
              HasSubstr("twice"));
  EXPECT_THAT(refusal(R"({"__metadata__":{"a":1}})", ""), HasSubstr("not a text"));
  EXPECT_THAT(refusal(R"({"__metadata__":{"a":"1","a":"2"}})", ""), HasSubstr("twice"));
  EXPECT_THAT(refusal(R"({"__metadata__":{},"__metadata__":{}})", ""), HasSubstr("twice"));
}

TEST(Safetensors, BooleansAreZeroOrOne) {
  const std::string bytes =
      file_of(R"({"x":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", std::string("\1\2", 2));
  const SafetensorsFile file = parsed(bytes);
  EXPECT_EQ(code_of([&] { file.read(*file.find("x")); }), ErrorCode::bad_data_file);
}

TEST(Safetensors, HeadersMayHoldManyTensors) {
  std::vector<NamedTensor> tensors;
  for (int i = 0; i < 20000; ++i) tensors.push_back({"block." + std::to_string(i), scalar(i)});
  const ScratchFolder folder;
  write_safetensors(folder.path("x"), tensors, {}, {});
  const SafetensorsFile file = SafetensorsFile::open(folder.path("x"), {});
  EXPECT_EQ(file.tensors().size(), tensors.size());
  EXPECT_EQ(file.read(*file.find("block.12345")).item(), 12345);
}

TEST(Safetensors, NamesThatAFileCannotHoldAreRefusedAndNothingIsWritten) {
  const ScratchFolder folder;
  for (const std::vector<NamedTensor>& tensors : {std::vector<NamedTensor>{{"__metadata__", scalar(1)}},
                                                  {{"a", scalar(1)}, {"a", scalar(2)}},
                                                  {{"\xff", scalar(1)}}}) {
    EXPECT_EQ(code_of([&] { write_safetensors(folder.path("x"), tensors, {}, {}); }),
              ErrorCode::bad_attribute);
  }
  EXPECT_TRUE(folder.empty());
}

TEST(Safetensors, WhatIsNoFileIsRefused) {
  const ScratchFolder folder;
  EXPECT_EQ(code_of([&] { SafetensorsFile::open(folder.path("none"), {}); }), ErrorCode::bad_file);
  EXPECT_EQ(code_of([&] { SafetensorsFile::open(folder.path(), {}); }), ErrorCode::bad_file);
  EXPECT_EQ(code_of([&] { SafetensorsFile::open("/dev/zero", {}); }), ErrorCode::bad_file);
  EXPECT_EQ(code_of([&] { write_safetensors(folder.path("no/such/x"), {}, {}, {}); }), ErrorCode::bad_file);
}

}  // namespace
}  // namespace tidemark
