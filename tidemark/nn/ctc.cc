#include "tidemark/nn/ctc.h"

#include <fmt/format.h>

#include <limits>

#include "tidemark/base/call_site.h"
#include "tidemark/nn/lengths.h"
#include "tidemark/trace/control_flow.h"

namespace tidemark::nn {
namespace {

// Stands for log 0: sums of it are finite, so that no gradient is a difference of infinities, and e to the
// power of what is that far below a loss is 0.
constexpr double log_zero = -1e30;

void check_ctc(const Operand& log_probabilities, const Tensor& labels, const Tensor& steps,
               const Tensor& lengths, std::int64_t blank) {
  const Tensor& x = log_probabilities.tensor();
  const bool fits = x.rank() == 3 && labels.rank() == 2 && labels.size(0) == x.size(1) &&
                    steps.shape() == Shape{x.size(1)} && lengths.shape() == Shape{x.size(1)};
  if (!fits) {
    fail(ErrorCode::shape_mismatch,
         {.what = fmt::format("ctc_loss of {}, labels {}, lengths {} and {}", to_string(x.type()),
                              to_string(labels.type()), to_string(steps.type()), to_string(lengths.type())),
          .expected = "(T, B, classes), labels (B, S), lengths (B) twice",
          .where = log_probabilities.where()});
  }
  if (blank < 0 || blank >= x.size(2)) {
    fail(ErrorCode::bad_attribute, {.what = fmt::format("ctc_loss with blank {}", blank),
                                    .expected = fmt::format("one of the {} classes", x.size(2)),
                                    .where = log_probabilities.where()});
  }
}

// Blanks before, between and behind the labels: (B, S) → (B, 2 S + 1).
Tensor with_blanks(const Tensor& labels, std::int64_t blank) {
  const std::int64_t batch = labels.size(0), count = labels.size(1);
  const Tensor blanks = full({batch, count}, blank, labels.dtype());
  const Tensor pairs = reshape(stack({blanks, labels}, 2), {batch, 2 * count});
  return concat({pairs, full({batch, 1}, blank, labels.dtype())}, 1);
}

// x moved to the right by `places`, log_zero coming in.
Tensor moved(const Tensor& x, std::int64_t places) {
  const std::int64_t size = x.size(1), in = std::min(places, size);
  const Tensor fill = full({x.size(0), in}, log_zero, x.dtype());
  return concat({fill, x.at(all, Range{0, size - in})}, 1);
}

}  // namespace

Tensor ctc_loss(const Operand& log_probabilities, const Operand& labels, const Operand& step_lengths,
                const Operand& label_lengths, const CtcOptions& options) {
  const Tensor& given = log_probabilities.tensor();
  const SourceLine where = log_probabilities.where();
  const CallSite site(where);
  check_ctc(log_probabilities, labels.tensor(), step_lengths.tensor(), label_lengths.tensor(), options.blank);
  const Tensor steps = checked_lengths("ctc_loss: the step length", step_lengths, given.size(0));
  const Tensor lengths =
      checked_lengths("ctc_loss: the label length", label_lengths, labels.tensor().size(1));
  const Tensor x = cast(log_probabilities, size_of(given.dtype()) == 2 ? DType::f32 : given.dtype());
  const std::int64_t time = x.size(0), batch = x.size(1), count = labels.tensor().size(1);
  const DType dtype = x.dtype();

  // Labels behind an example's length may be anything, -1 among them: they are read as blanks.
  const Tensor place = arange(count), counts = place < reshape(lengths, {batch, 1});
  const Tensor blanks = full({batch, count}, options.blank, labels.tensor().dtype());
  const Tensor states = with_blanks(select(counts, labels, blanks), options.blank);
  const std::int64_t width = 2 * count + 1;

  // A label may follow the one before it without a blank between them unless they are the same.
  const Tensor before =
      concat({full({batch, std::min<std::int64_t>(2, width)}, options.blank, states.dtype()),
              states.at(all, Range{0, std::max<std::int64_t>(width - 2, 0)})},
             1);
  const Tensor changes = states != before, skips = changes && states != options.blank;

  // What each state says at each step, for all at once.
  const Tensor spread = broadcast(reshape(states, {1, batch, width}), {time, batch, width});
  const Tensor said = maximum(gather({x, where}, spread, 2), log_zero);

  // Before the first step all ways wait at the first blank.
  const Tensor first = arange(width) == 0, nowhere = full({width}, log_zero, dtype);
  const Tensor start = broadcast(select(first, zeros({width}, dtype), nowhere), {batch, width});
  const Tensor impossible = full({batch, width}, log_zero, dtype);
  const auto advance = [&](const Tensor& ways, const std::pair<Tensor, Tensor>& now) {
    const Tensor stay = ways, step = moved(ways, 1), skip = select(skips, moved(ways, 2), impossible);
    const Tensor arrived = logsumexp(stack({stay, step, skip}), {0}) + now.second;
    const Tensor running = broadcast(now.first < reshape(steps, {batch, 1}), {batch, width});
    return select(running, maximum(arrived, log_zero), ways);
  };
  const Tensor ways = scan(advance, start, std::pair(arange(time), said));

  // They end at the last label or at the blank behind it.
  const Tensor end = reshape(lengths * 2, {batch, 1});
  const Tensor last_blank = gather({ways, where}, end, 1);
  const Tensor last_label = gather({ways, where}, maximum(end - 1, 0), 1);
  const Tensor none = full({batch, 1}, log_zero, dtype), labelled = select(end > 0, last_label, none);
  const Tensor total = reshape(logsumexp(concat({last_blank, labelled}, 1), {1}), {batch});
  const double unbounded = options.zero_infinity ? 0 : std::numeric_limits<double>::infinity();
  const Tensor infinite = total <= log_zero / 2, instead = full({batch}, unbounded, dtype);
  Tensor losses = select(infinite, instead, -total);
  if (options.reduction == Reduction::mean) losses = losses / cast(maximum(lengths, 1), dtype);
  return reduced(losses, options.reduction);
}

}  // namespace tidemark::nn
