#include "tidemark/files/save_load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/scratch_folder.h"
#include "tidemark/tidemark.h"

namespace tidemark {
namespace {

using testing::code_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ScratchFolder;

struct Attention {
  Tensor query, key;
  int heads = 2;
  TM_FIELDS(Attention, query, key, heads)
};
struct Block {
  Attention attention;
  std::map<std::string, Tensor> norms;
  TM_FIELDS(Block, attention, norms)
};
struct Net {
  std::vector<Block> blocks;
  std::tuple<Tensor, std::array<Tensor, 2>> head;
  TM_FIELDS(Net, blocks, head)
};

struct EmptyBlock {
  std::vector<Block> blocks = {Block{{Tensor(), Tensor()}, {{"before", Tensor()}}}};
  TM_FIELDS(EmptyBlock, blocks)
};

Tensor numbers(float first, std::int64_t count) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(first + static_cast<float>(i));
  return tensor(values, {count});
}
Net net(float first) {
  Net made;
  for (int i = 0; i < 2; ++i) {
    made.blocks.push_back(
        {{numbers(first, 3), numbers(first + 10, 2), 4 + i}, {{"before", numbers(first + 20, 1)}}});
  }
  made.head = {numbers(first + 30, 4), {scalar(first), scalar(first + 1)}};
  return made;
}
std::vector<std::vector<double>> values_of(const Net& net) {
  std::vector<std::vector<double>> values;
  for_each_tensor(net, [&](const std::string&, const Tensor& t) { values.push_back(t.to_vector()); });
  return values;
}
std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(SaveLoad, TreesComeBackUnderTheirPaths) {
  const ScratchFolder folder;
  const std::string path = folder.path("net.safetensors");
  save(path, net(1), {{"step", "12"}});
  Net other = net(100);
  const LoadReport report = load(path, other);
  EXPECT_EQ(values_of(other), values_of(net(1)));
  EXPECT_EQ(other.blocks[1].attention.heads, 5) << "numbers of a tree are no tensors";
  EXPECT_EQ(report.metadata.at("step"), "12");
  EXPECT_EQ(report.loaded.size(), 9u);
  EXPECT_EQ(report.loaded[0], "blocks.0.attention.query");
  EXPECT_EQ(to_string(report), "9 tensors loaded");
  const auto all = load(path);
  EXPECT_EQ(all.size(), 9u);
  EXPECT_EQ(all.at("head.1.1").item(), 2);
}

TEST(SaveLoad, SavingThroughALinkKeepsIt) {
  const ScratchFolder folder;
  const std::string link = folder.path("latest.safetensors"), target = folder.path("run7.safetensors");
  save(target, ones({2}));
  std::filesystem::create_symlink(target, link);
  save(link, full({2}, 3));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  Tensor back = zeros({2});
  load(target, back);
  EXPECT_EQ(back.to_vector(), (std::vector<double>{3, 3}));
}

TEST(SaveLoad, TensorsAloneAndEmptyOnes) {
  const ScratchFolder folder;
  save(folder.path("x"), numbers(3, 2));
  Tensor x;
  load(folder.path("x"), x);
  EXPECT_THAT(x.to_vector(), ElementsAre(3, 4));
  EXPECT_EQ(load(folder.path("x")).begin()->first, "tensor");
  EXPECT_THAT(message_of([&] {
                save(folder.path("x"), std::vector<Tensor>{x, Tensor()});
              }),
              HasSubstr("`1` cannot be saved: it is empty"));
  EXPECT_EQ(load(folder.path("x")).size(), 1u) << "the old file is still there";
  save(folder.path("none"), std::vector<Tensor>());
  EXPECT_THAT(load(folder.path("none")), IsEmpty());
}

TEST(SaveLoad, StrictLoadingNamesWhatDiffersAndLeavesTheTreeAlone) {
  const ScratchFolder folder;
  const std::string path = folder.path("x");
  save(path, std::map<std::string, Tensor>{{"a", scalar(1)}, {"only.file", scalar(2)}});
  std::map<std::string, Tensor> tree = {{"a", scalar(7)}, {"b", scalar(8)}};
  const std::string message = message_of([&] { load(path, tree); });
  EXPECT_THAT(message, HasSubstr("TM0506"));
  EXPECT_THAT(message, HasSubstr("1 missing in the file: b"));
  EXPECT_THAT(message, HasSubstr("1 only in the file: only.file"));
  EXPECT_THAT(message, HasSubstr("save_load_test.cc"));
  EXPECT_EQ(tree.at("a").item(), 7);

  const LoadReport report = load(path, tree, {.strict = false});
  EXPECT_THAT(report.loaded, ElementsAre("a"));
  EXPECT_THAT(report.missing, ElementsAre("b"));
  EXPECT_THAT(report.unused, ElementsAre("only.file"));
  EXPECT_EQ(tree.at("a").item(), 1);
  EXPECT_EQ(tree.at("b").item(), 8);
  EXPECT_EQ(to_string(report), "1 tensors loaded, 1 missing (b), 1 unused (only.file)");
}

TEST(SaveLoad, OtherShapesAndDtypesAreRefusedBeforeAnythingIsLoaded) {
  const ScratchFolder folder;
  const std::string path = folder.path("x");
  save(path, std::map<std::string, Tensor>{{"a", scalar(1)}, {"b", zeros({2, 3})}});
  std::map<std::string, Tensor> tree = {{"a", scalar(7)}, {"b", zeros({3, 2})}};
  EXPECT_THAT(message_of([&] { load(path, tree); }),
              HasSubstr("`b` is f32[3, 2] in the tree and F32[2, 3] in the file"));
  EXPECT_EQ(tree.at("a").item(), 7);
  tree.at("b") = zeros({2, 3}, DType::f16);
  EXPECT_THAT(message_of([&] { load(path, tree); }), HasSubstr(".convert = true"));
  EXPECT_EQ(load(path, tree, {.skip = {"b"}}).skipped, std::vector<std::string>{"b"});
  EXPECT_EQ(load(path, tree, {.only = {"a"}}).skipped, std::vector<std::string>{"b"});
  EXPECT_EQ(load(path, tree, {.convert = true}).converted, std::vector<std::string>{"b"});
  EXPECT_EQ(tree.at("b").type(), (Type{DType::f16, {2, 3}}));
}

TEST(SaveLoad, AnOnlyThatMatchesNothingIsAnErrorUnlessLoadingIsLoose) {
  const ScratchFolder folder;
  const std::string path = folder.path("x");
  save(path, std::map<std::string, Tensor>{{"a", scalar(1)}, {"b", scalar(2)}});
  std::map<std::string, Tensor> tree = {{"a", scalar(7)}, {"b", scalar(8)}};
  const std::vector<std::vector<std::string>> mistakes = {{"nothing"}, {"a", "c.*"}};
  for (const std::vector<std::string>& only : mistakes) {
    EXPECT_EQ(code_of([&] { load(path, tree, {.only = only}); }), ErrorCode::bad_attribute);
    const std::string message = message_of([&] { load(path, tree, {.only = only}); });
    EXPECT_THAT(message, HasSubstr("`" + only.back() + "`"));
    EXPECT_THAT(message, HasSubstr("a, b"));
    EXPECT_THAT(message, HasSubstr("save_load_test.cc"));
  }
  EXPECT_EQ(tree.at("a").item(), 7);
  EXPECT_THAT(load(path, tree, {.strict = false, .only = {"nothing"}}).loaded, IsEmpty());
}

TEST(SaveLoad, ConversionsRoundOnceAndNeverLoseAnInteger) {
  const ScratchFolder folder;
  const std::string path = folder.path("x");
  const auto loaded_as = [&](const Tensor& saved, DType dtype) {
    save(path, saved);
    Tensor x = zeros(saved.shape(), dtype);
    load(path, x, {.convert = true});
    return x.to_vector();
  };
  EXPECT_THAT(loaded_as(tensor({1.0009765625, 70000.0}), DType::f16),
              ElementsAre(1.0009765625, std::numeric_limits<double>::infinity()));
  EXPECT_THAT(loaded_as(tensor({1.00390625f}), DType::bf16), ElementsAre(1.0));  // half to even
  EXPECT_THAT(loaded_as(tensor<std::int64_t>({-1, 16777217}), DType::f32), ElementsAre(-1, 16777216));
  EXPECT_THAT(loaded_as(tensor<std::int64_t>({255, 0}), DType::u8), ElementsAre(255, 0));
  EXPECT_EQ(code_of([&] { loaded_as(tensor<std::int64_t>({256}), DType::u8); }), ErrorCode::bad_data_file);
  EXPECT_EQ(code_of([&] { loaded_as(tensor({1.5f}), DType::i32); }), ErrorCode::tensors_differ);
  EXPECT_EQ(code_of([&] { loaded_as(tensor({true}), DType::f32); }), ErrorCode::tensors_differ);
}

TEST(SaveLoad, NamesOfOtherPeoplesFilesAreMapped) {
  const ScratchFolder folder;
  const std::string path = folder.path("x");
  save(path, std::map<std::string, Tensor>{{"transformer.h.0.attn.q", numbers(1, 3)},
                                           {"transformer.h.0.attn.k", numbers(2, 2)},
                                           {"transformer.h.0.ln", numbers(3, 1)}});
  EmptyBlock tree;
  load(path, tree,
       {.names = {{"blocks.*.attention.query", "h.*.attn.q"},
                  {"blocks.*.attention.key", "h.*.attn.k"},
                  {"blocks.*.norms.before", "h.*.ln"}},
        .rename = [](const std::string& name) { return "transformer." + name; }});
  EXPECT_THAT(tree.blocks[0].attention.query.to_vector(), ElementsAre(1, 2, 3));
  EXPECT_THAT(tree.blocks[0].norms.at("before").to_vector(), ElementsAre(3));

  std::map<std::string, Tensor> bare = {
      {"h.0.ln", Tensor()}, {"h.0.attn.q", Tensor()}, {"h.0.attn.k", Tensor()}};
  EXPECT_THAT(message_of([&] { load(path, bare); }), HasSubstr(R"(.names = {{"*", "transformer.*"}})"));
  load(path, bare, {.names = {{"*", "transformer.*"}}});
  EXPECT_EQ(bare.at("h.0.ln").item(), 3);
}

TEST(SaveLoad, OneTensorOfAFileMayServeTwoOfATree) {
  const ScratchFolder folder;
  save(folder.path("x"), std::map<std::string, Tensor>{{"table", numbers(1, 2)}});
  std::map<std::string, Tensor> tied = {{"table", Tensor()}, {"head", Tensor()}};
  load(folder.path("x"), tied, {.names = {{"head", "table"}}});
  EXPECT_THAT(tied.at("head").to_vector(), ElementsAre(1, 2));
}

TEST(SaveLoad, MappedTensorsOutliveTheFile) {
  const ScratchFolder folder;
  const std::string path = folder.path("x");
  save(path, net(1));
  Net mapped = net(0);
  load(path, mapped, {.map = true});
  save(path, net(50));  // replaces the file, and not what was mapped
  EXPECT_EQ(values_of(mapped), values_of(net(1)));
  save(path, mapped);
  std::filesystem::remove(path);
  EXPECT_EQ(values_of(mapped), values_of(net(1)));
}

}  // namespace
}  // namespace tidemark
