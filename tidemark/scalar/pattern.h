// Which inputs each result of a recording depends on.
#pragma once
#include <span>

#include "tidemark/scalar/matrix.h"
#include "tidemark/scalar/tape.h"

namespace tidemark::scalars {

// A row for each result, a column for each input of the recording. Slopes that are exactly zero were dropped
// when it was recorded: the pattern is that of the Jacobian at this point. What passes through an event
// depends on all of its operands.
// The search counts as the tape's memory.
SparsePattern detect_pattern(Tape& tape, std::span<const Real> results,
                             SourceLine where = std::source_location::current());

// The same with bits for sets, at one sweep for each 256 results (or inputs): what is taken where sets
// become large. Only for tests by itself.
SparsePattern detect_pattern_by_bits(Tape& tape, std::span<const Real> results,
                                     SourceLine where = std::source_location::current());

// Whether the recording's Jacobian has an entry where `pattern` has none: each row throws a shadow of one of
// 256 bits on its columns, so that an entry too many is found with probability 1 - (entries of its
// column) / 256, in one sweep.
bool outside_pattern(Tape& tape, std::span<const Real> results, const SparsePattern& pattern,
                     const SourceLine& where);

}  // namespace tidemark::scalars
