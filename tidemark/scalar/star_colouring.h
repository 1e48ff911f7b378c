// Star colourings, for compressed Hessians. Variables are vertices, entries off the diagonal are edges; two
// that are joined differ in colour, and every path of four vertices has three colours at least. So the edges
// between two colours are stars: each entry is alone, in the row of a star's point, among those of the colour
// of its centre, and can be read off a product of the Hessian with the sum of one colour's directions. An
// arrow-head takes two colours, where columns that share no row are as many as there are variables.
//
// Gebremedhin, Tarafdar, Manne, Pothen: New acyclic and star coloring algorithms with application to
// computing Hessians. SIAM Journal on Scientific Computing 29 (2007).
#pragma once
#include <cstdint>
#include <vector>

#include "tidemark/scalar/colouring.h"
#include "tidemark/scalar/matrix.h"

namespace tidemark::scalars {

struct StarColouring : Colouring {
  // By entry (i, j) of the pattern: whether it is read in row j, among those of i's colour. Else it is read
  // in row i, among those of j's.
  std::vector<bool> mirrored;
};

// Of a symmetric pattern. Greedy, in the order of variables, from the fullest row and from the emptiest one:
// the best counts. A few variables that many meet want to be last.
StarColouring colour_stars(const SparsePattern& pattern);

}  // namespace tidemark::scalars
