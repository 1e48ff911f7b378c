// What lossy copies, values computed back up to rounding, and products in TF32 or fp8 do to a call's results:
// it is run with and without them on the same arguments, and compared.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tidemark/base/bytes.h"
#include "tidemark/base/source.h"
#include "tidemark/ops/codec/form.h"
#include "tidemark/trace/tensor.h"

namespace tidemark {

class Device;
class Graph;
struct BackwardValues;
struct Target;

// A value that waits for the backward pass in a form that is not exact. Errors are relative to its largest
// magnitude, of all steps of a loop.
struct LossyValue {
  std::string name = {};  // empty: it has none
  SourceLine where = {};  // of the operation that makes it
  Form form = QuantFormat::int8;
  Type type = {};
  std::int64_t copies = 1;              // that wait: one for each step of the loops around it
  Bytes plain, small;                   // of all copies
  double bound = 0;                     // of the error; infinite: none is known
  std::optional<double> measured = {};  // none: in a loop within a loop or branch, or of unknown length
};

// A value that is computed back up to rounding. Errors as above; the bound is what the operations state.
struct DriftedValue {
  std::string name = {};
  SourceLine where = {};
  Type type = {};
  double bound = 0, measured = 0;
};

struct GradientError {
  // The largest difference of a result to what the call gives without lossy values, and with products in the
  // operands' own dtype, relative to the largest magnitude of that result.
  double largest = 0;
  std::vector<double> results = {};  // of each floating-point result, in tree order
  std::vector<LossyValue> values = {};
  std::vector<DriftedValue> undone = {};
  std::string arithmetic = {};  // what is computed otherwise than dtypes say, with `tf32` or `fp8`

  std::string text() const;
};

// `traced` with its marks, `inputs` for its inputs, none of which is overwritten. `target`: the one of the
// device's that the call runs for. Takes as much memory as planning without a budget asks for, twice.
GradientError gradient_error_of(Graph traced, std::span<const Tensor> inputs, const BackwardValues& values,
                                const std::vector<std::string>& skip_optimisations,
                                const std::shared_ptr<Device>& device, const Target& target,
                                SourceLine where);

}  // namespace tidemark
