// compile() traces a function once, plans its memory to the byte, and runs it inside that plan.
#include <fmt/format.h>
#include <tidemark/tidemark.h>

namespace td = tidemark;

struct Mlp {
  td::Tensor w1, b1, w2, b2;
  TM_FIELDS(Mlp, w1, b1, w2, b2)  // a tree: grad and compile walk it by name
};

td::Tensor loss(const Mlp& p, td::Tensor x, td::Tensor y) {
  const auto h = td::gelu(td::matmul(x, p.w1) + p.b1);  // (B, H)
  return td::mean(td::square(td::matmul(h, p.w2) + p.b2 - y));
}

int main() {
  const auto random = td::split_key(td::key(0), 4);
  const Mlp p{td::random_normal(random[0], {256, 512}, 0, 0.05), td::zeros({512}),
              td::random_normal(random[1], {512, 64}, 0, 0.05), td::zeros({64})};
  const td::Tensor x = td::random_normal(random[2], {1024, 256}),
                   y = td::random_normal(random[3], {1024, 64});

  const auto step = td::compile(td::value_and_grad(loss));
  const auto [value, gradients] = step(p, x, y);
  fmt::print("loss {:.4f}\n{}", value.item(), step.plan().summary());
  fmt::print("used {} of an arena of {}\n", td::to_string(step.arena_high_water()),
             td::to_string(td::Bytes(step.plan().plan.arena_bytes)));
}
