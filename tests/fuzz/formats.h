// Every format that is read from files, with its fuzz target, its corpus and words that mutations put in.
#pragma once
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_entry.h"
#include "tests/fuzz/mutator.h"

namespace tidemark::testing {

struct FuzzFormat {
  const char* name;
  int (*target)(const std::uint8_t*, std::size_t);
  const char* corpus;  // a folder of tests/fuzz; null: seeds are made
  std::vector<std::string> words;
};

inline const std::vector<FuzzFormat>& fuzz_formats() {
  static const std::vector<std::string> json = {"{",       "}",       "[",    "]",   ",",     ":",     "\"",
                                                "null",    "true",    "-1",   "1.5", "1e308", "1e999", "-0.0",
                                                "\\u0000", "\\ud800", "\xff", "{}",  "[]",    "\"x\""};
  static const std::vector<std::string> bytes = {std::string(8, '\0'),
                                                 std::string(8, '\xff'),
                                                 std::string(1, '\0'),
                                                 "\x80",
                                                 "\xe0",
                                                 "\x40",
                                                 std::string("\x01\0\0\0\0\0\0\0", 8)};
  static const std::vector<std::string> tensors = {"\"dtype\":",
                                                   "\"shape\":[",
                                                   "\"data_offsets\":[",
                                                   "__metadata__",
                                                   "F32",
                                                   "U8",
                                                   "BOOL",
                                                   "F4",
                                                   "{",
                                                   "}",
                                                   "[",
                                                   "]",
                                                   ",",
                                                   "\"",
                                                   ":",
                                                   " ",
                                                   "\\ud800",
                                                   "-",
                                                   "1e3"};
  static const std::vector<std::string> arrays = {
      "'descr'", "'shape'", "'fortran_order'", "True", "False", "(", ")", ",", "<f4", ">i2", "|b1", "'", "{",
      "}",       "L"};
  static const std::vector<FuzzFormat> formats = {
      {"ir", parse_fuzz, "corpus", {"%0",          "%x",      "-1",  "0",      "8",         "281474976710656",
                                    "[",           "]",       "{",   "}",      "(",         ")",
                                    ",",           "=",       "\"",  "graph(", "f32[]",     "f64[2, 3]",
                                    "bool[0]",     "[0, 0]",  "nan", "-inf",   "1e308",     "return",
                                    "@",           "hex",     "#",   "loop",   "trips = 3", "carries = 1",
                                    "scanned = 2", "keep = 2"}},
      {"dag", dag_fuzz, "dag_corpus", json},
      {"plan", plan_fuzz, "plan_corpus", json},
      {"machine", machine_fuzz, "machine_corpus", json},
      {"profile", profile_fuzz, "profile_corpus", json},
      {"csv",
       csv_fuzz,
       "csv_corpus",
       {",", "\n", "\r\n", "\"", "id", "size", "-1", "1e9", "0", "\t", "\xef\xbb\xbf", "a,0,1,1\n"}},
      {"actions",
       actions_fuzz,
       "actions_corpus",
       {" ",   "\n",  "store", "load",   "drop",    "record",  "reverse",     "advance", "in",  "from", "to",
        "0:0", "1:0", "-1:0",  "slots=", "bytes=-", "steps=1", "kind=online", ",",       "nan", "1e999"}},
      {"safetensors", safetensors_fuzz, "safetensors_corpus", tensors},
      {"checkpoint", checkpoint_fuzz, "checkpoint_corpus", tensors},
      {"npy", npy_fuzz, "npy_corpus", arrays},
      {"npz", npz_fuzz, "npz_corpus", bytes},
      {"tokens", tokens_fuzz, "tokens_corpus", bytes},
      {"images", images_fuzz, "images_corpus", bytes},
      {"merges",
       merges_fuzz,
       "merges_corpus",
       {" ", "\n", "\"", "\\x", "merges ", "specials ", "256", "97 98 \"ab\"\n"}},
      {"journal", journal_fuzz, nullptr, bytes},
      {"snapshots", snapshots_fuzz, nullptr, bytes},
  };
  return formats;
}

// Edits of each kind to each of the first records or files, for the formats whose seeds are made.
inline std::vector<std::string> made_seeds() {
  std::vector<std::string> seeds;
  for (int target = 0; target < 12; ++target)
    for (int kind = 0; kind < 6; ++kind)
      for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
        std::string seed = {static_cast<char>(target), static_cast<char>(0x80 + kind + 6 * (target % 4)),
                            static_cast<char>(8 * kind), 0};
        seed.append(reinterpret_cast<const char*>(&value), 8);
        if (target % 2) seed += 'x';
        seeds.push_back(seed);
      }
  return seeds;
}

inline std::vector<std::string> seeds_of(const FuzzFormat& format, const std::string& folder) {
  return format.corpus ? texts_in(folder + "/" + format.corpus) : made_seeds();
}

}  // namespace tidemark::testing
