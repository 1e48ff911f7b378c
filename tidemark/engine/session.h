// The process-wide engine: the device that computes, and the installation of eager evaluation. Including
// tidemark.h installs it (an inline variable there), so no static constructor of the library is needed.
#pragma once
#include <memory>

#include "tidemark/base/source.h"

namespace tidemark {

class CpuDevice;

std::shared_ptr<CpuDevice> default_device();  // to be kept for as long as it computes
// How many threads compute from now on; functions compiled before keep theirs. 0: all cores. Threads that
// compute share them: any number may call compiled functions and operations on tensors at once, the same
// function too, and each gets the bits it would get alone. Throws Error `bad_attribute` for numbers below 0
// and above 4096, and where the system makes no more threads; there are then as many as before.
void set_threads(int threads, SourceLine where = std::source_location::current());

bool install_engine();  // idempotent; returns true

}  // namespace tidemark
