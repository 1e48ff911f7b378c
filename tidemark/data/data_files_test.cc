#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/scratch_folder.h"
#include "tidemark/data/image_files.h"
#include "tidemark/data/loader.h"
#include "tidemark/data/token_file.h"
#include "tidemark/tidemark.h"

namespace tidemark::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tidemark::testing::code_of;
using tidemark::testing::ScratchFolder;

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string header_of(std::int32_t magic, std::int32_t version, std::int32_t count) {
  std::vector<std::int32_t> header(256);
  header[0] = magic;
  header[1] = version;
  header[2] = count;
  return {reinterpret_cast<const char*>(header.data()), 1024};
}

TEST(TokenFiles, AreReadAsLlmCWritesThem) {
  const ScratchFolder folder;
  const TokenFile gpt2(
      folder.write("a", header_of(20240520, 1, 4) + std::string("\1\0\xff\xff\x50\xc4\0\1", 8)));
  EXPECT_EQ(gpt2.format(), TokenFormat::gpt2);
  EXPECT_THAT(gpt2.tokens(0, 4).to_vector(), ElementsAre(1, 65535, 50256, 256));
  EXPECT_THAT(gpt2.tokens(2, 1).to_vector(), ElementsAre(50256));
  EXPECT_EQ(gpt2.tokens(4, 0).count(), 0);
  const TokenFile llama(folder.write("b", header_of(20240801, 7, 2) + std::string("\1\0\0\0\0\xf4\1\0", 8)));
  EXPECT_THAT(llama.tokens(0, 2).to_vector(), ElementsAre(1, 128000));
  EXPECT_EQ(code_of([&] { gpt2.tokens(3, 2); }), ErrorCode::index_out_of_range);
  EXPECT_EQ(code_of([&] { gpt2.tokens(-1, 2); }), ErrorCode::index_out_of_range);
}

TEST(TokenFiles, AreWrittenToTheByte) {
  const ScratchFolder folder;
  const std::vector<std::int32_t> tokens = {1, 65535};
  write_token_file(folder.path("a"), tokens);
  EXPECT_EQ(folder.read("a"), header_of(20240520, 1, 2) + std::string("\1\0\xff\xff", 4));
  write_token_file(folder.path("b"), tokens, TokenFormat::llama3);
  EXPECT_EQ(folder.read("b"), header_of(20240801, 7, 2) + std::string("\1\0\0\0\xff\xff\0\0", 8));
  EXPECT_THAT(message_of([&] {
                write_token_file(folder.path("a"), std::vector<std::int32_t>{0, 65536});
              }),
              HasSubstr("token 1 is 65536"));
  EXPECT_EQ(TokenFile(folder.path("a")).size(), 2) << "the old file is still there";
}

TEST(TokenFiles, BrokenOnesAreRefused) {
  const ScratchFolder folder;
  const auto refusal = [&](const std::string& bytes) {
    return message_of([&] { TokenFile(folder.write("x", bytes)); });
  };
  EXPECT_THAT(refusal(""), HasSubstr("too few"));
  EXPECT_THAT(refusal(header_of(7, 1, 0)), HasSubstr("begins with the number 7"));
  EXPECT_THAT(refusal(header_of(20240520, 2, 0)), HasSubstr("version 2"));
  EXPECT_THAT(refusal(header_of(20240520, 1, 2) + "abc"), HasSubstr("2 tokens of 2 bytes"));
  EXPECT_THAT(refusal(header_of(20240520, 1, -1)), HasSubstr("-1 tokens"));
  EXPECT_THAT(refusal(header_of(20240801, 7, 1) + "ab"), HasSubstr("cut off"));
  const TokenFile negative(folder.write("x", header_of(20240801, 7, 1) + "\xff\xff\xff\xff"));
  EXPECT_EQ(code_of([&] { negative.tokens(0, 1); }), ErrorCode::bad_data_file);
}

TEST(TokenFiles, WindowsAreStretchesOfOneMoreThanTheContext) {
  const ScratchFolder folder;
  std::vector<std::int32_t> tokens(11);
  for (int i = 0; i < 11; ++i) tokens[static_cast<std::size_t>(i)] = i;
  write_token_file(folder.path("a"), tokens);
  const TokenFile file(folder.path("a"));
  EXPECT_EQ(windows(file, 5).size, 2);
  EXPECT_EQ(windows(file, 4).size, 2);
  EXPECT_EQ(windows(file, 10).size, 1);
  EXPECT_EQ(windows(file, 11).size, 0);
  EXPECT_EQ(windows(file, 4, 1).size, 7);
  for (const auto& source : {windows(file, 5), windows(tensor(tokens, {11}), 5)}) {
    Loader loader(source, {.batch = 2, .shuffle = false});
    const Tensor batch = loader.next();
    EXPECT_EQ(batch.type(), (Type{DType::i32, {2, 6}}));
    EXPECT_THAT(batch.to_vector(), ElementsAre(0, 1, 2, 3, 4, 5, 5, 6, 7, 8, 9, 10));
  }
  Loader every(windows(file, 4, 1), {.batch = 1, .shuffle = false});
  every.next();
  EXPECT_THAT(every.next().to_vector(), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(code_of([&] { windows(file, 0); }), ErrorCode::bad_loader_option);
  EXPECT_EQ(code_of([&] { windows(zeros({3}), 1); }), ErrorCode::bad_loader_option);
}

TEST(Idx, IsReadInEveryType) {
  const ScratchFolder folder;
  const auto read = [&](const std::string& bytes) { return read_idx(folder.write("x", bytes)); };
  EXPECT_THAT(read(std::string("\0\0\x08\1\0\0\0\2\7\xff", 10)).to_vector(), ElementsAre(7, 255));
  EXPECT_THAT(read(std::string("\0\0\x09\1\0\0\0\1\xff", 9)).to_vector(), ElementsAre(-1));
  EXPECT_THAT(read(std::string("\0\0\x0b\1\0\0\0\1\xff\0", 10)).to_vector(), ElementsAre(-256));
  EXPECT_THAT(read(std::string("\0\0\x0c\1\0\0\0\1\0\0\1\0", 12)).to_vector(), ElementsAre(256));
  EXPECT_THAT(read(std::string("\0\0\x0d\1\0\0\0\1\x3f\xc0\0\0", 12)).to_vector(), ElementsAre(1.5));
  EXPECT_EQ(read(std::string("\0\0\x0e\2\0\0\0\0\0\0\0\3", 12)).type(), (Type{DType::f64, {0, 3}}));
}

TEST(Idx, BrokenFilesAreRefused) {
  const ScratchFolder folder;
  const auto refusal = [&](const std::string& bytes) {
    return message_of([&] { read_idx(folder.write("x", bytes)); });
  };
  EXPECT_THAT(refusal("\x1f\x8b\x08 "), HasSubstr("gunzip"));
  EXPECT_THAT(refusal("abc"), HasSubstr("too short"));
  EXPECT_THAT(refusal("abcd"), HasSubstr("does not begin"));
  EXPECT_THAT(refusal(std::string("\0\0\x08\1\0\0\0\2\7", 9)), HasSubstr("does not fit"));
  EXPECT_THAT(refusal(std::string("\0\0\x08\1\0\0\0\1\7\7", 10)), HasSubstr("does not fit"));
  EXPECT_THAT(refusal(std::string("\0\0\x08\xff\0\0", 6)), HasSubstr("ends at byte"));
  EXPECT_THAT(refusal(std::string("\0\0\x08\3\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 16)),
              HasSubstr("does not fit"));
}

TEST(Idx, MnistHasAsManyLabelsAsImages) {
  const ScratchFolder folder;
  const std::string images =
      folder.write("images", std::string("\0\0\x08\3\0\0\0\2\0\0\0\1\0\0\0\2\1\2\3\4", 20));
  const std::string labels = folder.write("labels", std::string("\0\0\x08\1\0\0\0\2\5\6", 10));
  const Images set = read_mnist(images, labels);
  EXPECT_EQ(set.images.type(), (Type{DType::u8, {2, 1, 2}}));
  EXPECT_EQ(set.labels.type(), (Type{DType::i32, {2}}));
  EXPECT_THAT(set.labels.to_vector(), ElementsAre(5, 6));
  EXPECT_THAT(message_of([&] { read_mnist(images, images); }), HasSubstr("the other file"));
  Loader loader(arrays(set), {.batch = 1, .shuffle = false});
  EXPECT_THAT(loader.next().images.to_vector(), ElementsAre(1, 2));
}

TEST(CifarFiles, AreImagesBehindTheirLabels) {
  const ScratchFolder folder;
  const std::string a = folder.write("a", '\7' + std::string(3072, 'a') + '\x09' + std::string(3072, 'b'));
  const std::string b = folder.write("b", '\0' + std::string(3072, 'c'));
  const Images ten = read_cifar({a, b});
  EXPECT_EQ(ten.images.shape(), (Shape{3, 3, 32, 32}));
  EXPECT_THAT(ten.labels.to_vector(), ElementsAre(7, 9, 0));
  EXPECT_EQ(ten.images.to_vector()[2 * 3072], 'c');
  const std::string c = folder.write("c", std::string("\x13\x63", 2) + std::string(3072, 'a'));
  EXPECT_THAT(read_cifar({c}, Cifar::hundred).labels.to_vector(), ElementsAre(99));
  EXPECT_THAT(read_cifar({c}, Cifar::hundred_coarse).labels.to_vector(), ElementsAre(19));
  EXPECT_EQ(code_of([&] { read_cifar({c}); }), ErrorCode::bad_data_file) << "another record";
  const std::string d = folder.write("d", '\x0a' + std::string(3072, 'a'));
  EXPECT_THAT(message_of([&] { read_cifar({a, d}); }), HasSubstr("image 0 is labelled 10"));
  EXPECT_EQ(read_cifar({}).images.size(0), 0);
}

}  // namespace
}  // namespace tidemark::data
