// Tensors from and for other libraries, without a copy, as DLPack's structs (dlpack_abi.h, or DLPack's own
// header): the versioned ones, and those from before version 1.0.
//
// Example, as in docs/concepts.md:
//   td::Tensor x = td::from_dlpack(borrowed);
//   DLManagedTensorVersioned* lent = td::to_dlpack_versioned(x * 2);
#pragma once
#include "tidemark/trace/tensor.h"

struct DLManagedTensor;           // declared only, so that DLPack's own header may follow
struct DLManagedTensorVersioned;  // the same

namespace tidemark {

// A tensor of what the struct describes. It takes the struct over whatever happens: the deleter, if there is
// one, runs once, when the last tensor in that memory is gone, or before an Error is thrown.
//
// The tensor lies in that very memory where it can: on the CPU, dense row by row, each element aligned to its
// own size, and booleans that are 0 or 1. Else the elements are copied, and the deleter runs at once. What
// the other library writes there later shows in the tensor, so it should not; what is donated to a compiled
// function is overwritten there, unless the struct says that it is read-only: donating that is an error.
//
// Throws bad_dlpack for what no tensor can be: another device, a dtype that we do not have, more than 8
// dimensions, another major version, a struct that contradicts itself; bad_attribute for a negative size,
// out_of_memory for absurd ones.
Tensor from_dlpack(DLManagedTensor* managed, SourceLine where = std::source_location::current());
Tensor from_dlpack(DLManagedTensorVersioned* managed, SourceLine where = std::source_location::current());

// The tensor's memory, for another library to read: dense, on the CPU, valid until the struct's deleter is
// called, which may happen on any thread and after the tensor is gone; until then the tensor cannot be
// donated (memory_in_use). A result that still lies in a function's arena moves out first.
//
// Tensors are values that many variables may share, so the memory must not be written. The versioned struct
// says so; the older one cannot, and what must not be written at all (from_dlpack of read-only memory) is
// copied for it.
DLManagedTensor* to_dlpack(const Tensor& tensor, SourceLine where = std::source_location::current());
DLManagedTensorVersioned* to_dlpack_versioned(const Tensor& tensor,
                                              SourceLine where = std::source_location::current());

}  // namespace tidemark
