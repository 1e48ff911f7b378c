// The protocol of GradBench (https://github.com/gradbench/gradbench, CONTRIBUTING.md): an evaluation sends
// one message a line, as JSON, over standard input, and reads one answer a line. `start` asks who answers,
// `define` whether a module is known, `evaluate` has one of its functions run on an input, `analysis` says
// what was thought of an output.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace tidemark::bench {

using Json = nlohmann::json;
using Rows = std::vector<std::vector<double>>;

// A function on an input that has been read: run as often as the message asks, each run timed, then its
// output written.
struct PreparedCall {
  std::function<void()> run;
  std::function<Json()> output;
};
using ProtocolFunction = std::function<PreparedCall(const Json& input)>;

// `read` makes the input of its JSON, `compute` the output of the input; only `compute` is timed.
template <class Read, class Compute>
ProtocolFunction protocol_function(Read read, Compute compute) {
  return [=](const Json& json) {
    using Input = std::invoke_result_t<Read, const Json&>;
    using Output = std::invoke_result_t<Compute, const Input&>;
    const auto input = std::make_shared<const Input>(read(json));
    const auto output = std::make_shared<std::optional<Output>>();
    return PreparedCall{[=] { output->emplace(compute(*input)); }, [=] { return Json(**output); }};
  };
}

// Throws where an input is none of the function's, which an evaluation then answers with `what`.
void expect(bool holds, const char* what);
// The same where there are not so many rows of so many numbers each.
void expect_shape(const Rows& rows, std::size_t count, std::size_t width, const std::string& name);
// A whole number from `least` on, and small enough for as many to be held.
std::size_t count_of(const Json& number, std::size_t least, const std::string& name);

// Answers until the input ends, what is no message with an error, under the name `tool`. Gives what main
// gives.
int serve(const std::string& module, const std::map<std::string, ProtocolFunction>& functions,
          const std::string& tool = "tidemark");

// One row after the other.
std::vector<double> flattened(const Rows& rows);
// From `begin` on, rows of so many numbers each.
Rows rows_of(const std::vector<double>& flat, std::size_t begin, std::size_t count, std::size_t width);

}  // namespace tidemark::bench
