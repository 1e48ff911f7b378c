#include "tidemark/base/folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "tests/support/command.h"

namespace tidemark {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::ScratchFolder;

mode_t mode_of(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 ? facts.st_mode & 0777 : 0;
}

Folder open(const ScratchFolder& scratch) { return Folder::open(scratch.path("")).value(); }

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(Folder, MakesFoldersAndFilesForThisUserAlone) {
  const ScratchFolder scratch;
  const Folder folder = open(scratch).make_private("own").value();
  EXPECT_EQ(mode_of(scratch.path("own")), 0700u);
  EXPECT_TRUE(folder.create("file"));
  EXPECT_EQ(mode_of(scratch.path("own/file")), 0600u);
  EXPECT_TRUE(folder.open_or_create("lock"));
  EXPECT_EQ(mode_of(scratch.path("own/lock")), 0600u);
}

TEST(Folder, ClosesToOthersAFolderOfThisUsersThatIsThere) {
  const ScratchFolder scratch;
  fs::create_directory(scratch.path("own"));
  ::chmod(scratch.path("own").c_str(), 0777);
  EXPECT_TRUE(open(scratch).make_private("own").ok());
  EXPECT_EQ(mode_of(scratch.path("own")), 0700u);
}

TEST(Folder, RefusesALinkWhereAFolderShouldBe) {
  const ScratchFolder scratch;
  fs::create_directory(scratch.path("victim"));
  fs::create_directory_symlink(scratch.path("victim"), scratch.path("own"));
  const auto refused = open(scratch).make_private("own");
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error(), HasSubstr("symbolic link"));
}

TEST(Folder, RefusesAFolderOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  const ScratchFolder scratch;
  fs::create_directory(scratch.path("own"));
  ASSERT_EQ(::chown(scratch.path("own").c_str(), 12345, 12345), 0);
  const auto refused = open(scratch).make_private("own");
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error(), HasSubstr("another user"));
}

TEST(Folder, CreatesInThePlaceOfALinkAndLeavesWhatItLedTo) {
  const ScratchFolder scratch;
  scratch.write("victim", "precious");
  fs::create_symlink(scratch.path("victim"), scratch.path("file"));
  const FileHandle file = open(scratch).create("file");
  ASSERT_TRUE(file);
  EXPECT_EQ(write_fully(file.get(), bytes_of("new"), 0), 0);
  EXPECT_EQ(scratch.read("victim"), "precious");
  EXPECT_EQ(scratch.read("file"), "new");
  EXPECT_FALSE(fs::is_symlink(scratch.path("file")));
}

TEST(Folder, OpensPlainFilesOnly) {
  const ScratchFolder scratch;
  scratch.write("plain", "text");
  scratch.write("twice", "text");
  fs::create_hard_link(scratch.path("twice"), scratch.path("second name"));
  fs::create_symlink(scratch.path("plain"), scratch.path("link"));
  fs::create_directory(scratch.path("folder"));
  ASSERT_EQ(::mkfifo(scratch.path("pipe").c_str(), 0600), 0);
  const Folder folder = open(scratch);
  EXPECT_TRUE(folder.open_file("plain", O_RDONLY));
  for (const char* name : {"twice", "link", "folder", "pipe", "missing"}) {
    EXPECT_FALSE(folder.open_file(name, O_RDONLY)) << name;
    EXPECT_NE(errno, 0) << name;
  }
  EXPECT_EQ(folder.files(), (std::vector<std::string>{"plain", "second name", "twice"}));
}

TEST(Folder, UnnamedFilesAreSeenByNobody) {
  const ScratchFolder scratch;
  const FileHandle file = open(scratch).create_unnamed();
  ASSERT_TRUE(file);
  EXPECT_EQ(write_fully(file.get(), bytes_of("hidden"), 10), 0);
  std::array<std::byte, 6> back{};
  std::size_t done = 0;
  EXPECT_EQ(read_fully(file.get(), back, 10, done), 0);
  EXPECT_EQ(done, 6u);
  EXPECT_TRUE(fs::is_empty(scratch.path("")));
}

TEST(Folder, KeepsToItsDirectoryWhenThePathComesToLeadElsewhere) {
  const ScratchFolder scratch;
  fs::create_directory(scratch.path("here"));
  fs::create_directory(scratch.path("elsewhere"));
  const Folder folder = Folder::open(scratch.path("here")).value();
  fs::rename(scratch.path("here"), scratch.path("moved"));
  fs::create_directory_symlink(scratch.path("elsewhere"), scratch.path("here"));
  EXPECT_TRUE(folder.create("file"));
  EXPECT_TRUE(fs::exists(scratch.path("moved/file")));
  EXPECT_TRUE(fs::is_empty(scratch.path("elsewhere")));
}

}  // namespace
}  // namespace tidemark
