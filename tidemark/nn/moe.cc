#include "tidemark/nn/moe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tidemark/base/call_site.h"
#include "tidemark/nn/inputs.h"
#include "tidemark/nn/losses.h"

namespace tidemark::nn {
namespace {

// Where each choice (a token's i-th expert) goes: a slot of its expert, or behind all slots when it is
// dropped.
struct Routing {
  Tensor slot;    // (top · tokens), in [0, experts · capacity]
  Tensor token;   // (experts · capacity): 1 + the token in the slot; 0: empty
  Tensor chosen;  // (top · tokens, experts): 1 where sent
};

Routing route(const Tensor& expert, std::int64_t tokens, std::int64_t experts, std::int64_t capacity) {
  const std::int64_t choices = expert.size(0), slots = experts * capacity;
  const Tensor chosen = one_hot(expert, experts, DType::i32);
  const Tensor rank = sum(chosen * cumsum(chosen, 0), {1}) - 1;  // among the choices of the same expert
  const Tensor fits = rank < capacity, place = cast(expert, DType::i32) * capacity + rank;
  const Tensor slot = select(fits, place, full({choices}, static_cast<double>(slots), DType::i32));
  const Tensor number = arange(choices, DType::i64) % tokens + 1;
  const Tensor token = scatter_add(zeros({slots + 1}, DType::i64), slot, number, 0);
  return {slot, token.at(Range{0, slots}), chosen};
}

Tensor with_zero_row(const Tensor& x, bool first) {  // (n, width) → (n + 1, width)
  const Tensor row = zeros({1, x.size(1)}, x.dtype());
  return first ? concat({row, x}, 0) : concat({x, row}, 0);
}

}  // namespace

SparseExperts SparseExperts::init(const Tensor& key, const MoeConfig& config, SourceLine where) {
  const CallSite site(where);
  if (config.top < 1 || config.top > config.experts || !(config.capacity > 0)) {
    fail(ErrorCode::bad_attribute,
         {.what = fmt::format("{} experts of which each token visits {}, with capacity {}", config.experts,
                              config.top, config.capacity),
          .expected = "1 to all of the experts, and a capacity above 0",
          .where = where});
  }
  const std::vector<Tensor> keys = split_key(key, 4);
  const double in = 1 / std::sqrt(static_cast<double>(config.width)),
               back = 1 / std::sqrt(static_cast<double>(config.hidden));
  return {random_normal(keys[0], {config.width, config.experts}, 0, in),
          random_normal(keys[1], {config.experts, config.width, config.hidden}, 0, in),
          random_normal(keys[2], {config.experts, config.width, config.hidden}, 0, in),
          random_normal(keys[3], {config.experts, config.hidden, config.width}, 0, back),
          config.top,
          config.capacity};
}
SparseExperts::Result SparseExperts::operator()(const Operand& given) const {
  const CallSite site(given.where());
  const Tensor& x = given.tensor();
  if (x.rank() != 2 || x.size(1) != router.size(0)) {
    fail(ErrorCode::shape_mismatch, {.what = fmt::format("experts over {}", to_string(x.type())),
                                     .expected = fmt::format("(tokens, {})", router.size(0)),
                                     .where = given.where()});
  }
  const std::int64_t tokens = x.size(0), width = x.size(1), experts = router.size(1);
  const double share = static_cast<double>(top * tokens) / static_cast<double>(experts);
  const auto slots = std::min(tokens, static_cast<std::int64_t>(std::ceil(share * capacity)));

  const Tensor scores = cast(matmul(x, router), DType::f32);  // (tokens, experts)
  const auto [best, expert] = top_k(scores, top);             // (tokens, top)
  const Routing routing = route(reshape(transpose(expert), {-1}), tokens, experts, slots);

  const Tensor sent = reshape(take(with_zero_row(x, true), routing.token, 0), {experts, slots, width});
  const Tensor opened = silu(matmul(sent, gate));
  const Tensor made = matmul(opened * matmul(sent, up), down);
  const Tensor back = take(with_zero_row(reshape(made, {-1, width}), false), routing.slot, 0);
  const Tensor weight = cast(reshape(transpose(softmax(best)), {top, tokens, 1}), x.dtype());
  const Tensor y = sum(reshape(back, {top, tokens, width}) * weight, {0});

  const Tensor sent_share = mean(cast(routing.chosen, DType::f32), {0});
  const Tensor balance = sum(sent_share * mean(softmax(scores), {0})) * static_cast<double>(experts);
  return {y, balance};
}

MoeBlock MoeBlock::init(const Tensor& key, const MoeConfig& config, SourceLine where) {
  const CallSite site(where);
  const std::vector<Tensor> keys = split_key(key, 2);
  return {RmsNorm::init(config.width), RmsNorm::init(config.width),
          RotaryAttention::init(keys[0], config.width, config.heads, config.kv_heads, where),
          SparseExperts::init(keys[1], config)};
}
SparseExperts::Result MoeBlock::operator()(const Operand& given, const Rotary& rotary) const {
  const CallSite site(given.where());
  const Tensor& x = given.tensor();
  const Tensor h = x + attention(norm1(x), rotary);
  const SparseExperts::Result mixed = experts(reshape(norm2(h), {-1, h.size(-1)}));
  return {h + reshape(mixed.y, h.shape()), mixed.balance};
}

Moe Moe::init(const Tensor& key, const MoeConfig& config, SourceLine where) {
  const CallSite site(where);
  const std::vector<Tensor> keys = split_key(key, 3);
  Moe moe;
  moe.token_table = random_normal(keys[0], {config.vocabulary, config.width}, 0, 0.02);
  for (std::int64_t i = 0; i < config.layers; ++i) {
    moe.blocks.push_back(MoeBlock::init(fold_in(keys[1], i), config, where));
  }
  moe.norm = RmsNorm::init(config.width);
  moe.head = random_normal(keys[2], {config.width, config.vocabulary}, 0,
                           1 / std::sqrt(static_cast<double>(config.width)));
  return moe;
}
Moe::Result Moe::hidden(const Operand& tokens) const {
  const CallSite site(tokens.where());
  check_tokens("a mixture of experts", tokens);
  Tensor h = embedding(token_table, tokens.tensor());  // (B, T, width)
  const std::int64_t head_width = h.size(-1) / blocks.front().attention.heads;
  const Rotary rotary = Rotary::of(tokens.tensor().size(1), head_width, h.dtype());
  Tensor balance = scalar(0);
  for (const MoeBlock& block : blocks) {
    const SparseExperts::Result result = block(h, rotary);
    h = result.y;
    balance += result.balance / static_cast<double>(blocks.size());
  }
  return {norm(h), balance};
}
Moe::Result Moe::operator()(const Operand& tokens) const {
  const CallSite site(tokens.where());
  const Result before = hidden(tokens);
  return {matmul(before.y, head), before.balance};
}

Tensor Moe::loss(const Operand& tokens, const Tensor& next) const {
  const CallSite site(tokens.where());
  const Result result = hidden(tokens);
  const Tensor loss = linear_cross_entropy(result.y, head, next, {.columns = true});
  return loss + result.balance * 0.01;
}

}  // namespace tidemark::nn
