// Reverse and forward mode for scalar C++: all of tidemark/scalar/.
#pragma once
#include "tidemark/scalar/real.h"
#include "tidemark/scalar/tape.h"
