// Layers with a memory: LSTM (Hochreiter & Schmidhuber 1997) and GRU (Cho et al. 2014) over sequences (T, B,
// in), as one `scan` whose graph does not grow with T. Gates are in PyTorch's order, matrices transposed as
// those of Linear.
#pragma once
#include <utility>
#include <vector>

#include "tidemark/base/call_site.h"
#include "tidemark/trace/functions.h"
#include "tidemark/trace/model_functions.h"
#include "tidemark/trace/tree.h"

namespace tidemark::nn {

struct SequenceOptions {
  bool reverse = false;  // from the last step to the first; outputs stay where their inputs are
  // (B), integers: steps behind an example's length give 0 and leave its state alone. Above T or below 0 they
  // are an error while running.
  Tensor lengths = {};
};

struct LstmState {
  Tensor hidden, cell;  // (B, width)
  TM_FIELDS(LstmState, hidden, cell)
};

struct LstmLayer {
  Tensor input;   // (in, 4 width): input, forget, cell and output gates
  Tensor hidden;  // (width, 4 width)
  Tensor bias;    // (4 width): the sum of PyTorch's two
  TM_FIELDS(LstmLayer, input, hidden, bias)

  static LstmLayer init(const Tensor& key, std::int64_t in, std::int64_t width,
                        SourceLine where = std::source_location::current());
  LstmState start(std::int64_t batch,
                  SourceLine where = std::source_location::current()) const;  // zeros
  // Outputs (T, B, width) and the state behind the last step.
  std::pair<Tensor, LstmState> scanned(const Operand& x, const LstmState& start,
                                       const SequenceOptions& options = {}) const;
  // (T, B, in) → (T, B, width), from a state of zeros, unrolled: every step is nodes of its own in the graph.
  Tensor operator()(const Operand& x) const;
};

struct GruState {
  Tensor hidden;  // (B, width)
  TM_FIELDS(GruState, hidden)
};

struct GruLayer {
  Tensor input;        // (in, 3 width): reset, update and new gates
  Tensor hidden;       // (width, 3 width)
  Tensor bias;         // (3 width)
  Tensor hidden_bias;  // (3 width): added to what the state adds, so that the reset gate counts for it
  TM_FIELDS(GruLayer, input, hidden, bias, hidden_bias)

  static GruLayer init(const Tensor& key, std::int64_t in, std::int64_t width,
                       SourceLine where = std::source_location::current());
  GruState start(std::int64_t batch,
                 SourceLine where = std::source_location::current()) const;  // zeros
  std::pair<Tensor, GruState> scanned(const Operand& x, const GruState& start,
                                      const SequenceOptions& options = {}) const;
};

// A layer that reads forward and one that reads backward, side by side.
template <class Layer>
struct Bidirectional {
  Layer forward, backward;
  TM_FIELDS(Bidirectional, forward, backward)

  static Bidirectional init(const Tensor& key, std::int64_t in, std::int64_t width,
                            SourceLine where = std::source_location::current()) {
    const CallSite site(where);
    const std::vector<Tensor> keys = split_key({key, where}, 2);
    return {Layer::init(keys[0], in, width, where), Layer::init(keys[1], in, width, where)};
  }
  // (T, B, in) → (T, B, 2 width), both from zeros.
  Tensor operator()(const Operand& x, const Tensor& lengths = {}) const {
    const CallSite site(x.where());
    const std::int64_t batch = x.tensor().size(1);
    const Tensor ahead = forward.scanned(x, forward.start(batch), {.lengths = lengths}).first;
    const SequenceOptions back{.reverse = true, .lengths = lengths};
    return concat({ahead, backward.scanned(x, backward.start(batch), back).first}, -1);
  }
};

}  // namespace tidemark::nn
