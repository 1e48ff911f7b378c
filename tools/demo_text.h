// What the demo's network learns to write: poems by Lewis Carroll and William Shakespeare, in the public
// domain.
#pragma once
#include <string_view>

namespace tidemark::cli {

extern const std::string_view demo_text;

}  // namespace tidemark::cli
