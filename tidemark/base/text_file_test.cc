#include "tidemark/base/text_stream.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <functional>

#include "tests/support/command.h"
#include "tidemark/base/error.h"

namespace tidemark {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::ScratchFolder;

std::string refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(ReadTextFile, GivesFilesAndPipesUpToALimit) {
  const ScratchFolder scratch;
  const std::string path = scratch.write("text", std::string(5000, 'x'));
  EXPECT_EQ(read_text_file(path, "a graph"), std::string(5000, 'x'));
  EXPECT_EQ(read_text_file(path, "a graph", Bytes(5000)).size(), 5000u);
  EXPECT_THAT(refusal([&] { read_text_file(path, "a graph", Bytes(4999)); }),
              AllOf(HasSubstr("too large for a graph"), HasSubstr("TM0503")));
  EXPECT_EQ(read_text_file(scratch.write("empty", ""), "a graph"), "");
}

TEST(ReadTextFile, RefusesDirectoriesDevicesAndLinksToThem) {
  const ScratchFolder scratch;
  EXPECT_THAT(refusal([&] { read_text_file(scratch.path(""), "a graph"); }), HasSubstr("it is a directory"));
  EXPECT_THAT(refusal([] { read_text_file("/dev/zero", "a graph"); }), HasSubstr("it is a device"));
  fs::create_symlink("/dev/zero", scratch.path("zeros.ir"));
  EXPECT_THAT(refusal([&] { read_text_file(scratch.path("zeros.ir"), "a graph"); }),
              HasSubstr("it is a device"));
  EXPECT_THAT(refusal([&] { read_text_file(scratch.path("none"), "a graph"); }), HasSubstr("No such file"));
}

TEST(InputStream, GivesLinesAndRefusesWhatIsNoFile) {
  const ScratchFolder scratch;
  InputStream in(scratch.write("lines", "one\ntwo"));
  std::string line;
  EXPECT_TRUE(std::getline(in, line));
  EXPECT_EQ(line, "one");
  EXPECT_TRUE(std::getline(in, line));
  EXPECT_EQ(line, "two");
  EXPECT_FALSE(std::getline(in, line));
  EXPECT_THAT(refusal([&] { InputStream(scratch.path("")); }), HasSubstr("it is a directory"));
}

TEST(OutputFile, ReplacesAtOnceAndLeavesNothingElse) {
  const ScratchFolder scratch;
  scratch.write("out", "old");
  ::chmod(scratch.path("out").c_str(), 0640);
  {
    OutputFile file(scratch.path("out"));
    file.write("new ");
    file.write("text");
    EXPECT_EQ(scratch.read("out"), "old") << "until it is whole";
    file.commit();
  }
  EXPECT_EQ(scratch.read("out"), "new text");
  struct stat facts {};
  ASSERT_EQ(::stat(scratch.path("out").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0640u) << "as it was";
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path("")), {}), 1);
}

TEST(OutputFile, LeavesTheOldFileWhenItIsNotCommitted) {
  const ScratchFolder scratch;
  scratch.write("out", "old");
  { OutputFile(scratch.path("out")).write(std::string(1 << 20, 'x')); }
  EXPECT_EQ(scratch.read("out"), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path("")), {}), 1);
}

TEST(OutputFile, WritesThroughLinksAndLeavesThem) {
  const ScratchFolder scratch;
  fs::create_directory(scratch.path("elsewhere"));
  scratch.write("elsewhere/file", "old");
  fs::permissions(scratch.path("elsewhere/file"), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("elsewhere/file", scratch.path("first"));  // relative to its folder
  fs::create_symlink(scratch.path("first"), scratch.path("out"));
  { OutputFile(scratch.path("out")).write("not committed"); }
  EXPECT_EQ(scratch.read("elsewhere/file"), "old");
  write_text_file(scratch.path("out"), "new");
  EXPECT_TRUE(fs::is_symlink(scratch.path("out")) && fs::is_symlink(scratch.path("first")));
  EXPECT_FALSE(fs::is_symlink(scratch.path("elsewhere/file")));
  EXPECT_EQ(scratch.read("elsewhere/file"), "new");
  EXPECT_EQ(fs::status(scratch.path("elsewhere/file")).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path("elsewhere")), {}), 1)
      << "nothing is left over";

  // A link to a file that is not there yet makes it; one to nowhere and one to itself are refused.
  fs::create_symlink("elsewhere/fresh", scratch.path("to_fresh"));
  write_text_file(scratch.path("to_fresh"), "made");
  EXPECT_EQ(scratch.read("elsewhere/fresh"), "made");
  fs::create_symlink("gone/file", scratch.path("to_nowhere"));
  EXPECT_THAT(refusal([&] { write_text_file(scratch.path("to_nowhere"), "x"); }), HasSubstr("TM0503"));
  fs::create_symlink("circle", scratch.path("circle"));
  EXPECT_THAT(refusal([&] { write_text_file(scratch.path("circle"), "x"); }), HasSubstr("symbolic link"));
  EXPECT_TRUE(fs::is_symlink(scratch.path("circle")));
}

TEST(OutputFile, WritesToAHandleOfItsOwnEvenWhenThatIsAFile) {
  const ScratchFolder scratch;
  scratch.write("out", "");
  const FileHandle file = Folder::open(scratch.path("")).value().open_file("out", O_WRONLY);
  ASSERT_TRUE(file);
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  write_text_file(path, "one ");
  write_text_file(path, "two");
  EXPECT_EQ(scratch.read("out"), "one two");
  EXPECT_TRUE(fs::is_symlink(path));
}

TEST(OutputFile, WritesToADeviceAndSaysWhenItIsFull) {
  EXPECT_NO_THROW(write_text_file("/dev/null", "text"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_THAT(refusal([] { write_text_file("/dev/full", "text"); }), HasSubstr("TM0705"));
}

// In a child, because the limit is the process's: no file may be longer.
TEST(OutputFile, LeavesTheOldFileWhenThereIsNoRoom) {
  const ScratchFolder scratch;
  scratch.write("out", "old");
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = 1000, .rlim_max = 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      write_text_file(scratch.path("out"), std::string(100'000, 'x'));
    } catch (const Error& error) {
      ::_exit(error.code() == ErrorCode::disk_full ? 3 : 4);
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_EQ(scratch.read("out"), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path("")), {}), 1);
}

TEST(OutputFile, SaysWhyItCannotBeMade) {
  const ScratchFolder scratch;
  EXPECT_THAT(refusal([&] { write_text_file(scratch.path("none/out"), "x"); }),
              HasSubstr("is not a directory"));
  EXPECT_THAT(refusal([&] { write_text_file(scratch.path(""), "x"); }), HasSubstr("it names a directory"));
  fs::create_directory(scratch.path("folder"));
  EXPECT_THAT(refusal([&] { write_text_file(scratch.path("folder"), "x"); }), HasSubstr("Is a directory"));
  EXPECT_THAT(refusal([] { write_text_file("", "x"); }), HasSubstr("without a name"));
}

}  // namespace
}  // namespace tidemark
