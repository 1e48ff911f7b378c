#include "tidemark/scalar/star_colouring.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>
#include <utility>

namespace tidemark::scalars {
namespace {

// The greedy algorithm, which knows the stars of what is coloured so far. All edges from a vertex to
// neighbours of one colour are in one star, so that a vertex knows its stars by colour, and there are few,
// however many neighbours it has.
class Stars {
 public:
  explicit Stars(const SparsePattern& pattern)
      : pattern_(pattern), known_(pattern.rows), first_(pattern.rows), forbidden_by_(1, none) {
    colouring_.colours.assign(pattern.rows, none);
    treated_by_.assign(pattern.rows, none);
  }

  StarColouring colour(std::span<const std::int32_t> order) {
    for (const Vertex v : order) colour_vertex(v);
    say_where_entries_are();
    return std::move(colouring_);
  }

 private:
  using Vertex = std::int32_t;
  using Star = std::int32_t;
  static constexpr std::int32_t none = -1;
  struct Edges {  // to neighbours of this colour
    std::int32_t colour;
    Star star;
  };
  struct First {  // the first neighbour of `of` that has this colour
    Vertex of = none, neighbour = none;
  };

  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  std::int32_t colour_of(Vertex v) const { return colouring_.colours[at(v)]; }
  const Edges* edges(Vertex v, std::int32_t colour) const {
    for (const Edges& each : known_[at(v)])
      if (each.colour == colour) return &each;
    return nullptr;
  }
  template <class Use>
  void each_coloured_neighbour(Vertex v, Use&& use) const {
    for (const Vertex w : pattern_.row(at(v)))
      if (w != v && colour_of(w) != none) use(w);
  }
  void forbid(std::int32_t colour, Vertex v) { forbidden_by_[at(colour)] = v; }

  void colour_vertex(Vertex v) {
    each_coloured_neighbour(v, [&](Vertex w) {
      forbid(colour_of(w), v);
      First& first = first_[at(colour_of(w))];
      if (first.of != v) {
        first = {v, w};
        // Where w is a point of a star, v would be the end of a path through w and the centre to another
        // point.
        for (const Edges& each : known_[at(w)])
          if (centres_[at(each.star)] != none && centres_[at(each.star)] != w) forbid(each.colour, v);
        return;
      }
      // Between two neighbours of one colour, v would be in the middle of a path from either to a neighbour
      // of the other.
      for (const Vertex x : {first.neighbour, w}) {
        if (treated_by_[at(x)] == v) continue;
        for (const Edges& each : known_[at(x)]) forbid(each.colour, v);
        treated_by_[at(x)] = v;
      }
    });
    std::int32_t colour = 0;
    while (forbidden_by_[at(colour)] == v) ++colour;
    colouring_.colours[at(v)] = colour;
    if (colour == colouring_.count) {
      ++colouring_.count;
      forbidden_by_.push_back(none);
    }
    each_coloured_neighbour(v, [&](Vertex w) { join(v, colour, w, colour_of(w)); });
  }

  // The edge between v, which got its colour just now, and w: a part of the star of w's that has points of
  // v's colour, or of that of v's that has points of w's, or a star of its own, whose centre is open.
  void join(Vertex v, std::int32_t colour, Vertex w, std::int32_t other) {
    if (const Edges* there = edges(w, colour)) {
      centres_[at(there->star)] = w;
      known_[at(v)].push_back({other, there->star});
    } else if (const Edges* here = edges(v, other)) {
      centres_[at(here->star)] = v;
      known_[at(w)].push_back({colour, here->star});
    } else {
      const auto star = static_cast<Star>(centres_.size());
      centres_.push_back(none);
      known_[at(v)].push_back({other, star});
      known_[at(w)].push_back({colour, star});
    }
  }

  void say_where_entries_are() {
    colouring_.mirrored.reserve(pattern_.entries());
    for (std::size_t i = 0; i < pattern_.rows; ++i) {
      const auto v = static_cast<Vertex>(i);
      for (const Vertex w : pattern_.row(i)) {
        const Vertex centre = w == v ? none : centres_[at(edges(v, colour_of(w))->star)];
        colouring_.mirrored.push_back(w != v && (centre == none ? v < w : centre == v));
      }
    }
  }

  const SparsePattern& pattern_;
  std::vector<std::vector<Edges>> known_;  // by vertex
  std::vector<Vertex> centres_;            // by star; none: of two vertices, either may be it
  std::vector<First> first_;               // by colour
  std::vector<Vertex> forbidden_by_;       // by colour, and one more: the vertex that may not have it
  std::vector<Vertex> treated_by_;
  StarColouring colouring_;
};

}  // namespace

StarColouring colour_stars(const SparsePattern& pattern) {
  std::vector<std::int32_t> order(pattern.rows);
  if (2 * pattern.entries() > pattern.rows * pattern.rows) {
    // So full that colours are not worth the search.
    StarColouring each_its_own;
    each_its_own.colours.resize(pattern.rows);
    std::iota(each_its_own.colours.begin(), each_its_own.colours.end(), 0);
    each_its_own.count = static_cast<std::int32_t>(pattern.rows);
    for (std::size_t i = 0; i < pattern.rows; ++i)
      for (const std::int32_t j : pattern.row(i))
        each_its_own.mirrored.push_back(static_cast<std::int32_t>(i) < j);
    return each_its_own;
  }
  std::iota(order.begin(), order.end(), 0);
  StarColouring best = Stars(pattern).colour(order);
  const auto try_order = [&](auto comes_first) {
    const auto neighbours = [&](std::int32_t v) { return pattern.row(static_cast<std::size_t>(v)).size(); };
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
      return comes_first(neighbours(a), neighbours(b));
    });
    StarColouring other = Stars(pattern).colour(order);
    if (other.count < best.count) best = std::move(other);
  };
  try_order(std::greater<>());
  try_order(std::less<>());
  return best;
}

}  // namespace tidemark::scalars
