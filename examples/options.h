// Options of an example on the command line: `--name VALUE`, each with a default, and `--help`.
//
//   int steps = 100;
//   Options options("Trains a small GPT on a text.");
//   options.add("--steps", steps, "updates in all");
//   return options.run(argc, argv, [&] { train(steps); });
#pragma once
#include <fmt/core.h>

#include <charconv>
#include <cstdio>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tidemark/base/bytes.h"

class Options {
 public:
  explicit Options(std::string about) : about_(std::move(about)) {}

  // A count of at least 1, a positive number, bytes ("64MiB") or a text: what `value` is, and holds by
  // default.
  template <class T>
  Options& add(std::string name, T& value, std::string meaning) {
    list_.push_back({std::move(name), std::move(meaning), text_of(value),
                     [&value](std::string_view text) { value = read<T>(text); }});
    return *this;
  }

  // Reads the options, then runs the program. What main() returns: 0; 1 where the program threw, whose reason
  // is printed; 2 for options that are none.
  template <class Program>
  int run(int argc, char** argv, Program program) const {
    for (int i = 1; i < argc; ++i)
      if (std::string_view(argv[i]) == "--help") return print_help(argv[0]), 0;
    try {
      for (int i = 1; i < argc; i += 2) set(argv[i], i + 1 < argc ? argv[i + 1] : nullptr);
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}\n(--help lists the options)\n", error.what());
      return 2;
    }
    try {
      program();
    } catch (const std::exception& error) {
      std::fflush(stdout);  // what was said before comes before
      fmt::print(stderr, "\n{}\n", error.what());
      return 1;
    }
    return 0;
  }

 private:
  struct Option {
    std::string name, meaning, text;  // text: of the default
    std::function<void(std::string_view)> set;
  };

  void print_help(const char* program) const {
    fmt::print("{}\n\nusage: {} [--option VALUE]...\n\n", about_, program);
    for (const Option& option : list_)
      fmt::print("  {:<14} {}{}\n", option.name, option.meaning,
                 option.text.empty() ? "" : fmt::format(" [{}]", option.text));
  }

  void set(std::string_view name, const char* text) const {
    for (const Option& option : list_) {
      if (option.name != name) continue;
      if (!text) throw std::runtime_error(fmt::format("{} wants a value", name));
      try {
        return option.set(text);
      } catch (const std::exception& error) {
        throw std::runtime_error(fmt::format("{} {}: {}", name, text, error.what()));
      }
    }
    throw std::runtime_error(fmt::format("there is no option '{}'", name));
  }

  template <class T>
  static T read(std::string_view text) {
    if constexpr (std::is_same_v<T, std::string>) {
      if (text.empty()) throw std::runtime_error("it is empty");
      return std::string(text);
    } else if constexpr (std::is_same_v<T, tidemark::Bytes>) {
      return tidemark::parse_bytes(text);
    } else {
      T value{};
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error != std::errc() || end != text.data() + text.size() || !(value > 0) || value - value != 0)
        throw std::runtime_error(std::is_integral_v<T> ? "a whole number of at least 1 was expected"
                                                       : "a number above 0 was expected");
      return value;
    }
  }

  template <class T>
  static std::string text_of(const T& value) {
    if constexpr (std::is_same_v<T, tidemark::Bytes>) {
      return to_string(value);
    } else {
      return fmt::format("{}", value);
    }
  }

  std::string about_;
  std::vector<Option> list_;
};
