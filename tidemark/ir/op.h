// What an operation means, as one constant aggregate. Everything else in the house asks here and knows no op
// by name: autodiff reads the rules, the planner reads view and replay facts, the laws read samples. How an
// operation runs somewhere (cost, scratch, strides, in-place reuse, fusion) is said by a target: ir/target.h.
//
//           ┌────────────── Op ──────────────┐
//   types ──┤ infer                          │
//   rules ──┤ vjp  jvp  expand   derivative  ├── opt, autodiff
//           │ inverse conditioning tolerant  │
//   facts ──┤ kind replay effect view unpacks├── plan
//           │ undoes fails                   ├── engine
//   laws  ──┤ dtypes samples                 ├── tests
//           └────────────────────────────────┘
#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tidemark/base/attrs.h"
#include "tidemark/base/source.h"
#include "tidemark/ir/type.h"

namespace tidemark {

class Graph;
class Builder;
class Var;
struct Node;
struct Op;
struct CustomRules;  // ops/custom/custom.h: an op made from user code
struct Failure;      // ir/failure.h: whether a call can fail while a plan runs

// What is known of a node's region once it is planned.
struct RegionFacts {
  std::int64_t arena_bytes = 0;
  double flops = 0, bytes_moved = 0, seconds = 0;  // of one run
  std::vector<int> over = {};  // per output: the input in whose memory it is made or stays, -1: none
};

// One use of an op, before or after it is a node of a graph.
struct Call {
  const Op* op = nullptr;
  std::span<const Type> in;
  std::span<const Type> out = {};  // empty while types are being inferred
  const Attrs* attrs = nullptr;
  std::span<const Graph> regions = {};
  SourceLine where = {};
  std::span<const Strides> in_strides = {};   // as planned; empty: every operand is dense
  std::span<const RegionFacts> planned = {};  // one per region; empty: regions are not planned yet

  template <class T>
  T attrs_as() const {
    return unpack<T>(*attrs);
  }
  bool is_dense_operand(int i) const {
    const auto k = static_cast<std::size_t>(i);
    return in_strides.empty() || is_dense(in[k].shape, in_strides[k]);
  }
};

enum class OpKind : std::uint8_t {
  elementwise,
  reduction,
  contraction,
  movement,
  random,
  control,
  opaque,
  composite
};
std::string_view name_of(OpKind kind);

// May the op run again? exact: same bits from the same operands. seeded: the same, its randomness being an
// operand or attribute. never: keep the result, do not recompute.
enum class Replay : std::uint8_t { exact, seeded, never };
std::string_view name_of(Replay replay);

// What becomes of an effect where the region that holds it is run again to get its values back.
enum class OnReplay : std::uint8_t {
  skip,    // It has happened, and is left out. If its results are needed, the region cannot run again.
  repeat,  // It may happen again, after whatever came since, with the same outcome and the same results.
  refuse,  // What holds it cannot run again: others rely on it in ways that no value shows.
};

// What an op does to the world beside its results. It happens whether anybody reads a result or not, exactly
// as often as the program says, or more often if it says `repeat`. The order is that of the program among
// the effects of one domain; those of different domains may pass each other. A domain is a name that ops
// agree on: "io" for files and terminals; for collectives one per group of ranks, all of which then issue
// them in the same order, as they run the same plan.
struct Effect {
  std::string_view domain = {};  // empty: there is no effect
  OnReplay on_replay = OnReplay::skip;

  constexpr bool exists() const { return !domain.empty(); }
};

// What a gradient means here. rule: vjp or expand says. zero: piecewise constant or integer-valued (floor,
// argmax, random bits). undefined: asking is an error.
enum class Derivative : std::uint8_t { rule, zero, undefined };

// How far off an operand may be that was computed back from results: `rounding` by itself, as a share of the
// largest magnitude among what the call reads and makes, and `gain` times the errors of what it was computed
// from.
struct Conditioning {
  double gain = 1, rounding = 0;
};

// Result as a window on operand `operand`: element offset from the operand's first element, and strides.
struct ViewSpec {
  int operand = 0;
  std::int64_t offset = 0;
  Strides strides;
};

// Derivatives of a region, for the rules of ops that have regions. Autodiff, which calls the rules, brings
// them: an op rests on nothing above ir/.
struct Calculus {
  // (x…) → (y…) becomes (x…, ẋ of each wanted x) → (y…, ẏ of each floating-point y).
  Graph (*jvp)(const Graph& f, std::span<const bool> wanted);
  // (x…) → (y…) becomes (x…, ȳ of each floating-point y, a of each accumulated x) → (y…, x̄ of each wanted
  // x), where the gradient of an accumulated x begins as a. What is accumulated is wanted.
  Graph (*vjp)(const Graph& f, std::span<const bool> wanted, std::span<const bool> accumulated);
};

// A rule writes SSA through the builder; what it reads is what must live. `in`/`out` are the call's operands
// and results. For a vjp `seed[r]` is the gradient arriving at result r and the rule returns one gradient per
// operand; for a jvp `seed[o]` is the tangent of operand o and the rule returns one tangent per result. An
// empty Var is zero. A jvp that computes the results along with the tangents returns them after those: they
// replace the node's.
struct RuleCall {
  Builder& builder;
  const Call& call;
  std::span<const Var> in;
  std::span<const Var> out;
  std::span<const Var> seed;
  std::span<const bool> wanted = {};  // vjp: which operands need a gradient; others may be left empty
  const Calculus* calculus = nullptr;

  bool wants(int operand) const { return wanted.empty() || wanted[static_cast<std::size_t>(operand)]; }
};

// Set of dtypes as bits.
struct DTypeSet {
  unsigned bits = 0;
  constexpr bool contains(DType t) const { return (bits >> static_cast<int>(t)) & 1u; }
};
inline constexpr DTypeSet floats{0x0f}, integers{0x70}, numbers{0x7f}, booleans{0x80}, any_dtype{0xff};
inline constexpr DTypeSet wide_floats{0x03};  // f32 and f64 only

// Operands and attributes on which the laws try the op. Types are written for f64 (or the fixed dtype of an
// index or mask operand); the laws recast f64 operands to every dtype of `Op::dtypes`.
struct Sample {
  struct Operand {
    Type type;
    double low = -2, high = 2;  // values are drawn from [low, high], away from 0 when `nonzero`
    bool nonzero = false;
    double diagonal =
        0;  // added to the diagonal of the last two dimensions, for matrices that must be regular
  };
  std::vector<Operand> in;
  Attrs attrs = {};
  bool smooth = true;    // finite differences are meaningful at generic points
  double tolerance = 1;  // multiplies the laws' own tolerance where conditioning is poor
};

struct Op {
  std::string_view name;
  OpKind kind = OpKind::composite;
  Replay replay = Replay::exact;
  Effect effect = {};
  Derivative derivative = Derivative::rule;
  DTypeSet dtypes = floats;  // of the operands that carry data
  int results = 1;           // -1: depends on the attributes (split)

  const AttrSchema& (*schema)() = &schema_of<NoAttrs>;
  std::vector<Type> (*infer)(const Call&) = nullptr;  // throws Error for the caller's mistakes

  std::vector<Var> (*vjp)(const RuleCall&) = nullptr;
  std::vector<Var> (*jvp)(const RuleCall&) = nullptr;
  std::vector<Var> (*expand)(const RuleCall&) =
      nullptr;  // the same meaning in simpler ops; returns the results
  // The call as it must run if a gradient is to follow: with more results, which the vjp reads. Returns the
  // results that there were. Reverse mode replaces calls by it before it asks for a vjp; `wanted` says who
  // needs a gradient.
  std::vector<Var> (*for_reverse)(const RuleCall&) = nullptr;

  // An operand from the results and the other operands, in a call that `invertible` accepts (which looks at
  // the graph, and changes nothing). In `rule.in` the operand itself is empty. What it gives has the very
  // bits, or is as close as `conditioning` says.
  Var (*inverse)(const RuleCall&, int operand) = nullptr;
  bool (*invertible)(const Graph&, const Node&, int operand) = nullptr;  // nullptr: every call and operand
  Conditioning (*conditioning)(const Call&) = nullptr;                   // nullptr: exact

  // Does the vjp neither divide by its operands or its first result nor compare them for equality? Then an
  // error in one of them makes one of the same order in the gradient, and the rule may read lossy copies
  // where the user allows it.
  bool tolerant = false;
  // Is the result what a packed operand stands for, larger than that and made about as fast as it is written?
  // What waits is then the operand.
  bool unpacks = false;
  // Is the result the operand of a call that is undone here, as its `inverse` does?
  bool undoes = false;

  std::optional<ViewSpec> (*view)(const Call&,
                                  int result) = nullptr;  // can the result be a window on an operand?
  Failure (*fails)(const Call&) = nullptr;                // for what operands hold; nullptr: never
  // Is the region run more often than the program says, to get values back? It then holds nothing that may
  // run only once. nullptr: none is.
  bool (*replays)(const Call&, std::size_t region) = nullptr;
  std::vector<Sample> (*samples)() = nullptr;

  const CustomRules* custom = nullptr;
};

}  // namespace tidemark
