// Writing with a small GPT: milliseconds per token by generate(), whose cache holds what was read, by a
// compiled step of the same cache, and by reading all tokens again for each. Ratios in one run.
//
//   generate [TOKENS]
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "tidemark/base/stopwatch.h"
#include "tidemark/nn/models.h"
#include "tidemark/tidemark.h"

namespace {

using namespace tidemark;
using namespace tidemark::nn;

template <class F>
double least_seconds(const F& f) {
  f();
  double least = 1e30;
  for (int round = 0; round < 3; ++round) {
    const Stopwatch watch;
    f();
    least = std::min(least, watch.seconds());
  }
  return least;
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t count = argc > 1 ? std::atoll(argv[1]) : 128, length = 64;
  const Gpt gpt = Gpt::init(
      key(0), {.layers = 6, .width = 384, .heads = 6, .vocabulary = 8192, .context = length + count});
  const Tensor prompt = cast(floor(random_uniform(key(1), {1, length}, 0, 8192)), DType::i32);

  const auto whole =
      compile([&](const Gpt& model, const Tensor& text) { return generate(model, text, count, key(2)); });
  const double cached = least_seconds([&] { whole(gpt, prompt); }) / static_cast<double>(count);

  const auto read = compile([](const Gpt& model, const Tensor& tokens, const LanguageCache& before) {
    auto [hidden, after] = model.hidden(tokens, before);
    return std::pair(argmax(model.logits(hidden.at(all, -1)), -1), after);
  });
  const double stepped =
      least_seconds([&] {
        auto [token, cache] = read(gpt, prompt, gpt.cache(1));
        for (std::int64_t i = 1; i < count; ++i) {
          std::tie(token, cache) = read(gpt, cast(reshape(token, {1, 1}), DType::i32), cache);
        }
      }) /
      static_cast<double>(count);

  // All tokens up to the end at once: what each token costs at least without a cache, at full length.
  const auto again = compile([](const Gpt& model, const Tensor& tokens) {
    return argmax(model.logits(model.hidden(tokens).at(all, -1)), -1);
  });
  const Tensor full = cast(floor(random_uniform(key(1), {1, length + count}, 0, 8192)), DType::i32);
  const double reread = least_seconds([&] { again(gpt, full); });

  fmt::print("{} tokens behind {}, ms per token (ratio to generate)\n", count, length);
  fmt::print("generate            {:8.3f}\n", 1e3 * cached);
  fmt::print("compiled step       {:8.3f} {:6.2f}\n", 1e3 * stepped, stepped / cached);
  fmt::print("all read again      {:8.3f} {:6.2f}\n", 1e3 * reread, reread / cached);
}
