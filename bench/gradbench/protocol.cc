#include "bench/gradbench/protocol.h"

#include <chrono>
#include <iostream>
#include <stdexcept>

namespace tidemark::bench {

namespace {

using Functions = std::map<std::string, ProtocolFunction>;

Json evaluate(const Json& message, const std::string& module, const Functions& functions) {
  using Clock = std::chrono::steady_clock;
  if (message.at("module") != module)
    throw std::runtime_error("this program knows the module " + module + " only");
  const auto found = functions.find(message.at("function").get<std::string>());
  if (found == functions.end())
    throw std::runtime_error("no such function: " + message.at("function").dump());
  const Json& input = message.at("input");
  const bool settings = input.is_object();
  const int least_runs = settings ? input.value("min_runs", 1) : 1;
  const double least_seconds = settings ? input.value("min_seconds", 0.0) : 0;
  const PreparedCall call = found->second(input);
  Json timings = Json::array();
  double spent = 0;
  for (int run = 0; run < least_runs || spent < least_seconds || run == 0; ++run) {
    const auto begin = Clock::now();
    call.run();
    const auto time = Clock::now() - begin;
    timings.push_back({{"name", "evaluate"},
                       {"nanoseconds", std::chrono::duration_cast<std::chrono::nanoseconds>(time).count()}});
    spent += std::chrono::duration<double>(time).count();
  }
  return {{"success", true}, {"output", call.output()}, {"timings", std::move(timings)}};
}

Json answer(const Json& message, const std::string& module, const Functions& functions,
            const std::string& tool) {
  const std::string kind = message.value("kind", "");
  if (kind == "start") return {{"tool", tool}};
  if (kind == "define") {
    if (message.at("module") == module) return {{"success", true}};
    return {{"success", false}, {"error", "this program knows the module " + module + " only"}};
  }
  if (kind == "evaluate") {
    try {
      return evaluate(message, module, functions);
    } catch (const std::exception& error) {
      return {{"success", false}, {"error", error.what()}};
    }
  }
  return Json::object();  // analysis, and what later versions add: the id alone
}

}  // namespace

int serve(const std::string& module, const Functions& functions, const std::string& tool) {
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);) {
    if (line.empty()) continue;
    Json reply, id;
    try {
      const Json message = Json::parse(line);
      id = message.at("id");
      reply = answer(message, module, functions, tool);
    } catch (const Json::exception& error) {
      reply = {{"success", false}, {"error", error.what()}};
    }
    reply["id"] = id;  // null where there is none to answer to
    std::cout << reply.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
  }
  return 0;
}

void expect(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

void expect_shape(const Rows& rows, std::size_t count, std::size_t width, const std::string& name) {
  bool fits = rows.size() == count;
  for (const std::vector<double>& row : rows) fits &= row.size() == width;
  if (!fits)
    throw std::runtime_error(name + " has not " + std::to_string(count) + " rows of " +
                             std::to_string(width) + " numbers");
}

std::size_t count_of(const Json& number, std::size_t least, const std::string& name) {
  constexpr std::size_t most = 100'000'000;
  const bool whole =
      number.is_number_unsigned() || (number.is_number_integer() && number.get<std::int64_t>() >= 0);
  if (!whole || number.get<std::size_t>() < least || number.get<std::size_t>() > most)
    throw std::runtime_error(name + " is " + number.dump() + ", and no whole number from " +
                             std::to_string(least) + " to " + std::to_string(most));
  return number.get<std::size_t>();
}

std::vector<double> flattened(const Rows& rows) {
  std::vector<double> flat;
  for (const std::vector<double>& row : rows) flat.insert(flat.end(), row.begin(), row.end());
  return flat;
}

Rows rows_of(const std::vector<double>& flat, std::size_t begin, std::size_t count, std::size_t width) {
  Rows rows(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto from = flat.begin() + static_cast<std::ptrdiff_t>(begin + i * width);
    rows[i].assign(from, from + static_cast<std::ptrdiff_t>(width));
  }
  return rows;
}

}  // namespace tidemark::bench
