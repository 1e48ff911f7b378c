// Whole files as text; what cannot be read or written is an Error.
#pragma once
#include <string>
#include <string_view>

namespace tidemark::cli {

std::string read_text(const std::string& path);
void write_text(const std::string& path, std::string_view text);

}  // namespace tidemark::cli
