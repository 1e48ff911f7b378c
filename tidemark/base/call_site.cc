#include "tidemark/base/call_site.h"

namespace tidemark {
namespace {

constinit thread_local SourceLine current_line;

}  // namespace

CallSite::CallSite(const SourceLine& where) : first_(!current_line.known() && where.known()) {
  if (first_) current_line = where;
}
CallSite::~CallSite() {
  if (first_) current_line = {};
}
const SourceLine& CallSite::current() { return current_line; }

}  // namespace tidemark
