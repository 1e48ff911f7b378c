// The fuzz targets: each takes any bytes, and throws or crashes only when it found a bug. Built for
// libFuzzer, a target is the entry point of its own executable (cmake/TidemarkFuzz.cmake renames it);
// driver/main.cc runs them without libFuzzer.
#pragma once
#include <cstddef>
#include <cstdint>

extern "C" int parse_fuzz(const std::uint8_t* data, std::size_t size);    // graphs as text
extern "C" int dag_fuzz(const std::uint8_t* data, std::size_t size);      // graphs of costs and bytes as JSON
extern "C" int plan_fuzz(const std::uint8_t* data, std::size_t size);     // plans as JSON
extern "C" int machine_fuzz(const std::uint8_t* data, std::size_t size);  // machines as JSON
extern "C" int profile_fuzz(const std::uint8_t* data, std::size_t size);  // profiles of plans as JSON
extern "C" int csv_fuzz(const std::uint8_t* data, std::size_t size);      // tables of lifetimes
extern "C" int actions_fuzz(const std::uint8_t* data, std::size_t size);  // lists of a schedule's actions
extern "C" int journal_fuzz(const std::uint8_t* data, std::size_t size);  // edits to the journal of a run
extern "C" int snapshots_fuzz(const std::uint8_t* data, std::size_t size);    // edits to its snapshots
extern "C" int safetensors_fuzz(const std::uint8_t* data, std::size_t size);  // files of tensors
extern "C" int npy_fuzz(const std::uint8_t* data, std::size_t size);          // arrays of NumPy
extern "C" int npz_fuzz(const std::uint8_t* data, std::size_t size);          // archives of them
extern "C" int tokens_fuzz(const std::uint8_t* data, std::size_t size);       // files of tokens
extern "C" int images_fuzz(const std::uint8_t* data, std::size_t size);       // IDX and CIFAR
extern "C" int merges_fuzz(const std::uint8_t* data, std::size_t size);       // merges of a tokenizer
extern "C" int checkpoint_fuzz(const std::uint8_t* data, std::size_t size);   // checkpoints of training
