#include "tidemark/base/source.h"

#include <fmt/format.h>

#include <mutex>
#include <unordered_set>

namespace tidemark {

std::string_view intern(std::string_view text) {
  static std::mutex mutex;
  static std::unordered_set<std::string> texts;  // node based: elements never move
  std::lock_guard lock(mutex);
  return *texts.emplace(text).first;
}

std::string short_form(const SourceLine& at) {
  if (!at.known()) return "";
  const auto slash = at.file.rfind('/');
  const auto name = slash == std::string_view::npos ? at.file : at.file.substr(slash + 1);
  return fmt::format("{}:{}", name, at.line);
}

}  // namespace tidemark
