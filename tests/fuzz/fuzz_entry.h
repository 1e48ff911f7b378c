// A fuzz target: takes any bytes, throws or crashes only when it found a bug.
#pragma once
#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
