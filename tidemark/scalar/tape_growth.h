// Which lines of the user's made a tape grow: whoever fills a chunk is counted, so that a tape that became
// too large can say where.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "tidemark/base/source.h"

namespace tidemark::scalars {

class TapeGrowth {
 public:
  void add(const SourceLine& where, std::size_t bytes);
  void clear() { lines_.clear(); }
  // "heat.cpp:41 (71%), heat.cpp:57 (22%)"; "" where nothing is known.
  std::string largest() const;

 private:
  struct Line {
    SourceLine where;
    std::size_t bytes = 0;
  };
  std::vector<Line> lines_;
};

}  // namespace tidemark::scalars
