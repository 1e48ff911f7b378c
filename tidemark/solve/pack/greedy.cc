#include "tidemark/solve/pack/greedy.h"

#include <limits>
#include <optional>
#include <utility>

#include "tidemark/base/repeatable_math.h"

namespace tidemark::packing {
namespace {

constexpr int levels = 150;
constexpr double dear = std::numeric_limits<double>::infinity();

constexpr Taste fixed_tastes[] = {
    {.length = 1, .size = 0, .waste_price = dear}, {.length = 1, .size = 1, .waste_price = dear},
    {.length = 2, .size = 1, .waste_price = 15},   {.length = 0, .size = 1, .waste_price = dear},
    {.length = 1, .size = 2, .waste_price = dear}, {.length = 1, .size = 0, .waste_price = 15},
    {.length = 1, .size = 1, .waste_price = 15},   {.length = 2, .size = 1, .waste_price = 40},
};

// Length counts for more than size in most good tastes; prices around 15 are the best where slack is uneven.
Taste random_taste(Noise& noise) {
  Taste taste;
  taste.length = 0.3 + 2.5 * noise.uniform();
  taste.size = 1.5 * noise.uniform();
  taste.noise = noise.uniform() < 0.5 ? 0 : noise.uniform();
  taste.waste_price =
      noise.uniform() < 0.2 ? dear : 4 * repeatable::exp(noise.uniform() * repeatable::log(15.0));
  return taste;
}

}  // namespace

Layout pack_whole(const Problem& problem, std::int64_t target, WorkMeter& meter) {
  const Skyline empty(problem);
  Noise unused(0);
  Layout best;
  for (const Taste& taste : fixed_tastes) {
    Skyline skyline = empty;
    skyline.prefer(taste, unused);
    meter.spend(skyline.build(endless_level));
    if (best.offsets.empty() || skyline.layout().height < best.height) best = skyline.layout();
    if (best.height <= target || meter.exhausted()) break;
  }
  return best;
}

void pack_in_levels(const Problem& problem, int tries, Noise& noise, WorkMeter& meter, Layout& best) {
  Skyline built(problem);
  std::optional<Taste> last_winner;
  for (int level = 1; level <= levels && !built.complete(); ++level) {
    const std::int64_t height =
        level == levels
            ? endless_level
            : static_cast<std::int64_t>(static_cast<double>(problem.bound) * level / (levels - 1));
    std::optional<Skyline> winner;
    double least = 0;
    std::optional<Taste> winners;
    for (int k = 0; k < tries; ++k) {
      const Taste taste = k == 0 && last_winner ? *last_winner : random_taste(noise);
      Skyline next = built;
      next.prefer(taste, noise);
      meter.spend(next.build(height) + static_cast<std::int64_t>(problem.blocks.size()));
      if (meter.exhausted()) return;
      const double cost = next.cost();
      if (!winner || cost < least) {
        winner = std::move(next);
        winners = taste;
        least = cost;
      }
    }
    built = std::move(*winner);
    last_winner = winners;
    if (built.complete() ? built.layout().height >= best.height : built.least_height() >= best.height) return;
  }
  if (built.complete() && built.layout().height < best.height) best = built.layout();
}

}  // namespace tidemark::packing
