// Reverse and forward mode for scalar C++: all of tidemark/scalar/.
#pragma once
#include "tidemark/scalar/dual.h"
#include "tidemark/scalar/functions.h"
#include "tidemark/scalar/real.h"
#include "tidemark/scalar/std_functions.h"
#include "tidemark/scalar/tape.h"
