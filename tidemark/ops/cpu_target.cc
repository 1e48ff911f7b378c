#include "tidemark/ops/cpu_target.h"

namespace tidemark {

const Target& cpu_target() {
  static const Target target{.name = "cpu"};
  return target;
}

}  // namespace tidemark
