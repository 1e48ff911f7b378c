// The figures of a command as JSON on standard output.
#pragma once
#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace tidemark::cli {

// Names of files and of values may hold any bytes: those that are no UTF-8 become U+FFFD.
template <class Json>
void print_figures(const Json& json) {
  fmt::print("{}\n", json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace));
}

}  // namespace tidemark::cli
