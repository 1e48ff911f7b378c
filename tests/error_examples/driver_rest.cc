// Every function of the driver that Tidemark looks for, under the driver's own symbol, failing as those of a
// busy GPU do. Weak, so that driver.cc writes out the few that answer.
#include "tidemark/cuda/driver.h"

#define TM_TEXT(x) #x
#define TM_SYMBOL(x) TM_TEXT(x)  // of what the headers make of a name: cuDeviceTotalMem_v2
#define TM_FAILS(name, symbol)                                                           \
  extern "C" __attribute__((weak)) CUresult failing_##name() __asm__(TM_SYMBOL(symbol)); \
  CUresult failing_##name() { return CUDA_ERROR_DEVICE_UNAVAILABLE; }
TM_CUDA_FUNCTIONS(TM_FAILS)
