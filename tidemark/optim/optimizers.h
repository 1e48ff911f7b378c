// Optimizers: plain data (the settings) and plain functions over trees of tensors (the state and its update).
//
//   const optim::AdamW adamw{.lr = 3e-4};
//   auto state = adamw.init(parameters);
//   auto train = compile(optim::step(adamw, loss), {.donate = {0}});
//   auto [next, value] = train(state, x, y);        // state = next: updated in place, counted once
//
// A state holds the parameters and what the optimizer remembers of them, each as a tree like the parameters.
#pragma once
#include "tidemark/optim/adafactor.h"
#include "tidemark/optim/adam.h"
#include "tidemark/optim/adamw8bit.h"
#include "tidemark/optim/clip.h"
#include "tidemark/optim/ema.h"
#include "tidemark/optim/lion.h"
#include "tidemark/optim/mixed.h"
#include "tidemark/optim/rmsprop.h"
#include "tidemark/optim/sgd.h"
#include "tidemark/optim/step.h"
