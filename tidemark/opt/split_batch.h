// A function of a batch, computed in micro-batches: one graph with a loop in it, so that a plan of it knows
// all of it.
//
//   before    what the micro-batches share, and sums of weights that they need (batch_classes.h)
//   loop      for each micro-batch: its part of the batch's arguments, forwards and backwards; what it adds
//             to sums over the batch is carried on, what it has for each example is stacked
//   behind    what follows from the complete sums: the division of a mean, the optimizer's update
//
// Sums are added up over micro-batches and divided once, so that a mean, also one over weights that differ
// from micro-batch to micro-batch, is that of the whole batch but for rounding. Sums of 16-bit numbers are
// carried in f32.
#pragma once
#include "tidemark/opt/batch_classes.h"

namespace tidemark {

// `find` gives ops by name. Throws Error with the user's line for what needs the whole batch at once.
Graph split_batch(const BatchPair& pair, const Op* (*find)(std::string_view name));

}  // namespace tidemark
