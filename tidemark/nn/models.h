// Every model, in one include.
#pragma once
#include "tidemark/nn/convnet.h"
#include "tidemark/nn/gpt.h"
#include "tidemark/nn/losses.h"
#include "tidemark/nn/mlp.h"
#include "tidemark/nn/transformer.h"
