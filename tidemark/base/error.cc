#include "tidemark/base/error.h"

#include <fmt/format.h>

#include "tidemark/base/call_site.h"

namespace tidemark {
namespace {

ErrorParts at_call_site(ErrorParts parts) {
  if (CallSite::current().known()) parts.where = CallSite::current();
  return parts;
}

std::string message(ErrorCode code, const ErrorParts& parts) {
  std::string text = fmt::format("error[TM{:04}]: {}", static_cast<int>(code), parts.what);
  if (parts.where.known()) text += fmt::format("\n  --> {}", short_form(parts.where));
  if (!parts.expected.empty()) text += fmt::format("\n  expected: {}", parts.expected);
  for (const std::string& note : parts.notes) text += fmt::format("\n  {}", note);
  if (!parts.help.empty()) text += fmt::format("\n  help: {}", parts.help);
  return text;
}

}  // namespace

Error::Error(ErrorCode code, ErrorParts parts)
    : std::runtime_error(""), code_(code), parts_(at_call_site(std::move(parts))) {
  static_cast<std::runtime_error&>(*this) = std::runtime_error(message(code_, parts_));
}

void Error::set_where(SourceLine where) {
  parts_.where = where;
  static_cast<std::runtime_error&>(*this) = std::runtime_error(message(code_, parts_));
}

void fail(ErrorCode code, ErrorParts parts) { throw Error(code, std::move(parts)); }

}  // namespace tidemark
