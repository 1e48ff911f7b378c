// Whether values that wait on a disk do so in fewer bytes. What comes back has the same bits in any case, and
// the plan's bytes on the disk are reserved as they are: what shrinks is what is written and read.
#pragma once

namespace tidemark {

enum class DiskCompression {
  none,
  automatic,  // where runs are faster for it, as measured: tried now and then (cpu/compression_trial.h)
  always      // whatever shrinks
};

}  // namespace tidemark
