// The fuzz targets: each takes any bytes, and throws or crashes only when it found a bug. Built for libFuzzer, a target is
// the entry point of its own executable (cmake/TidemarkFuzz.cmake renames it).
#pragma once
#include <cstddef>
#include <cstdint>

extern "C" int parse_fuzz(const std::uint8_t* data, std::size_t size);  // graphs as text
extern "C" int dag_fuzz(const std::uint8_t* data, std::size_t size);    // graphs of costs and bytes as JSON
