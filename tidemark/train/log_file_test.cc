#include "tidemark/train/log_file.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>

#include "tidemark/base/error.h"

namespace tidemark {
namespace {

using ::testing::HasSubstr;

class Logs : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              ("tidemark-log-" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string text(const std::string& name) const {
    std::ifstream in(folder_ / name);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
  }
  void put(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ / name) << content;
  }
  template <class F>
  std::string message(const F& f) const {
    try {
      f();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  std::filesystem::path folder_;
};

TEST_F(Logs, HaveTheColumnsOfTheirFirstRow) {
  LogFile log(path("run.csv"));
  log.write({{"step", 1}, {"loss", 0.1}, {"phase", "train"}});
  log.write({{"loss", std::numeric_limits<double>::quiet_NaN()}, {"step", 2}});
  log.write({{"phase", std::string("a, \"b\"\nc")}, {"step", 3L}});
  EXPECT_EQ(text("run.csv"), "step,loss,phase\n1,0.1,train\n2,nan,\n3,,\"a, \"\"b\"\" c\"\n");
  EXPECT_THAT(message([&] {
                log.write({{"lost", 1}});
              }),
              HasSubstr("no column `lost`; it has step, loss, phase"));
  EXPECT_EQ(text("run.csv").size(), 51u) << "a row that is refused is not written";
}

TEST_F(Logs, GrowBehindALink) {
  std::filesystem::create_symlink(path("elsewhere.csv"), path("run.csv"));
  LogFile(path("run.csv")).write({{"step", 1}});
  LogFile(path("run.csv")).write({{"step", 2}});
  EXPECT_TRUE(std::filesystem::is_symlink(path("run.csv")));
  EXPECT_EQ(text("elsewhere.csv"), "step\n1\n2\n");
}

TEST_F(Logs, OfJsonLinesTakeAnyRow) {
  LogFile log(path("run.jsonl"));
  log.write({{"step", 1}, {"loss", 0.1}, {"best", true}});
  log.write({{"text", "a\n\"\xff"}, {"loss", std::numeric_limits<double>::infinity()}});
  EXPECT_EQ(text("run.jsonl"),
            "{\"step\":1,\"loss\":0.1,\"best\":true}\n{\"text\":\"a\\n\\\"\xef\xbf\xbd\",\"loss\":null}\n");
}

TEST_F(Logs, GoOnBehindTheLastWholeRow) {
  for (const std::string torn : {"3", "3,\"4", "\"3,4"}) {
    put("run.csv", "step,\"a,b\"\n1,2\n" + torn);
    LogFile(path("run.csv")).write({{"a,b", 5}, {"step", 4}});
    EXPECT_EQ(text("run.csv"), "step,\"a,b\"\n1,2\n4,5\n") << torn;
  }
  put("torn.jsonl", "{\"step\":");
  LogFile(path("torn.jsonl")).write({{"step", 1}});
  EXPECT_EQ(text("torn.jsonl"), "{\"step\":1}\n");
  put("long.jsonl", "{}\n" + std::string(200'000, 'x'));
  LogFile(path("long.jsonl")).write({{"step", 1}});
  EXPECT_EQ(text("long.jsonl"), "{}\n{\"step\":1}\n");
}

TEST_F(Logs, LoseNoWholeRowThatHasNoLineBreak) {
  put("run.csv", "step,loss\n1,2\n3,4");
  LogFile(path("run.csv"));
  EXPECT_EQ(text("run.csv"), "step,loss\n1,2\n3,4\n") << "also where nothing is written";
  LogFile(path("run.csv")).write({{"loss", 6}, {"step", 5}});
  EXPECT_EQ(text("run.csv"), "step,loss\n1,2\n3,4\n5,6\n");
  put("names.csv", "step,loss");
  LogFile(path("names.csv")).write({{"loss", 2}, {"step", 1}});
  EXPECT_EQ(text("names.csv"), "step,loss\n1,2\n");
  put("run.jsonl", "{\"step\":1}");
  LogFile(path("run.jsonl")).write({{"step", 2}});
  EXPECT_EQ(text("run.jsonl"), "{\"step\":1}\n{\"step\":2}\n");
  const std::string wide = "{\"text\":\"" + std::string(200'000, 'x') + "\"}";
  put("wide.jsonl", wide);
  LogFile(path("wide.jsonl")).write({{"step", 2}});
  EXPECT_EQ(text("wide.jsonl"), wide + "\n{\"step\":2}\n");
}

TEST_F(Logs, WriteEveryIntegerAsItIsAndACharacterAsText) {
  const std::vector<LogEntry> row = {{"a", std::numeric_limits<unsigned long>::max()},
                                     {"b", std::numeric_limits<std::int64_t>::min()},
                                     {"c", 'c'},
                                     {"d", static_cast<unsigned char>(7)},
                                     {"e", true}};
  LogFile(path("run.csv")).write(row);
  EXPECT_EQ(text("run.csv"), "a,b,c,d,e\n18446744073709551615,-9223372036854775808,c,7,true\n");
  LogFile(path("run.jsonl")).write(row);
  EXPECT_EQ(text("run.jsonl"),
            "{\"a\":18446744073709551615,\"b\":-9223372036854775808,\"c\":\"c\",\"d\":7,\"e\":true}\n");
}

TEST_F(Logs, TakeRowsFromSeveralThreads) {
  LogFile log(path("run.csv"));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&log, t] {
      for (int i = 0; i < 50; ++i) log.write({{"thread", t}, {"i", i}});
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string all = text("run.csv");
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 201);
}

TEST_F(Logs, SayWhyTheyCannotBeWritten) {
  EXPECT_THAT(message([&] { LogFile(path("run.txt")); }), HasSubstr("neither in .csv nor in .jsonl"));
  EXPECT_THAT(message([&] { LogFile(path("none/run.csv")); }), HasSubstr("none"));
  std::filesystem::create_directory(folder_ / "folder.csv");
  EXPECT_THAT(message([&] { LogFile(path("folder.csv")); }), HasSubstr("cannot be opened"));
}

}  // namespace
}  // namespace tidemark
