// Reverse and forward mode for scalar C++: all of tidemark/scalar/.
#pragma once
#include "tidemark/scalar/derivative.h"
#include "tidemark/scalar/dual.h"
#include "tidemark/scalar/external.h"
#include "tidemark/scalar/functions.h"
#include "tidemark/scalar/hessian.h"
#include "tidemark/scalar/jacobian.h"
#include "tidemark/scalar/real.h"
#include "tidemark/scalar/solve.h"
#include "tidemark/scalar/std_functions.h"
#include "tidemark/scalar/stepper.h"
#include "tidemark/scalar/tape.h"
#include "tidemark/scalar/text.h"
