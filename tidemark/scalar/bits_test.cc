// The order in which adjoints are added up is that of the statements, wherever they lie meanwhile: random
// programs, on tapes with short rings and long ones, against a reversal that has one adjoint per statement.
#include <gtest/gtest.h>

#include <random>

#include "tidemark/scalar/tape.h"

namespace tidemark::scalars {
namespace {

struct Term {
  std::size_t operand;
  double slope;
};

// A random program, and the adjoints of its inputs by the plainest of reversals.
struct Program {
  std::vector<double> inputs;
  std::vector<std::vector<Term>> statements;  // operands by number: inputs first
  std::vector<std::pair<std::size_t, double>> seeds;

  Program(unsigned seed, std::size_t length, std::size_t far) {
    std::mt19937 random(seed);
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
    const auto number = [&] { return static_cast<double>(random()) / 4294967296.0 - 0.5; };
    for (std::size_t i = 0; i < 5; ++i) inputs.push_back(number());
    for (std::size_t i = inputs.size(); i < length; ++i) {
      std::vector<Term> terms;
      const std::size_t count = 1 + below(3);
      while (terms.size() < count) {
        const std::size_t kind = below(10);
        const std::size_t reach = kind < 6 ? 12 : kind < 9 ? 2000 : far;
        const std::size_t operand = i - 1 - below(std::min(i, reach));
        bool fresh = true;
        for (const Term& term : terms) fresh &= term.operand != operand;
        if (fresh) terms.push_back({operand, number() * 1.4});
      }
      statements.push_back(terms);
    }
    for (std::size_t i = 0; i < 4; ++i) seeds.push_back({below(length), number()});
    seeds.push_back({length - 1, 1.0});
  }

  std::vector<double> plain() const {
    std::vector<double> adjoints(inputs.size() + statements.size());
    for (const auto& [of, amount] : seeds) adjoints[of] += amount;
    for (std::size_t i = adjoints.size(); i-- > inputs.size();)
      for (const Term& term : statements[i - inputs.size()])
        if (adjoints[i] != 0) adjoints[term.operand] += term.slope * adjoints[i];
    adjoints.resize(inputs.size());
    return adjoints;
  }

  std::vector<double> on(Tape& tape) const {
    std::vector<Real> x = tape.inputs(inputs);
    const std::vector<Real> first = x;
    for (const auto& terms : statements) {
      Real result;
      if (terms.size() == 1) result = terms[0].slope * x[terms[0].operand];
      if (terms.size() == 2)
        result = terms[0].slope * x[terms[0].operand] + terms[1].slope * x[terms[1].operand];
      if (terms.size() == 3)
        result = terms[0].slope * x[terms[0].operand] + terms[1].slope * x[terms[1].operand] +
                 terms[2].slope * x[terms[2].operand];
      x.push_back(result);
    }
    std::vector<Tape::Seed> of;
    for (const auto& [i, amount] : seeds) of.push_back({x[i], amount});
    tape.reverse(of);
    return tape.gradient(first);
  }
};

TEST(Bits, OfAdjointsDoNotDependOnTheRing) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const std::size_t length = seed % 3 == 0 ? 700 : seed % 3 == 1 ? 9000 : 40000;
    const Program program(seed, length, seed % 2 ? 5000 : 30000);
    const std::vector<double> expected = program.plain();
    const std::int64_t least = length == 700 ? 64 << 10 : length == 9000 ? 400 << 10 : 1500 << 10;
    for (const std::int64_t memory : {std::int64_t{-1}, least, 4 * least, std::int64_t{64} << 20}) {
      Tape tape({.memory = Bytes(memory)});
      EXPECT_EQ(program.on(tape), expected) << seed << " in " << memory;
      if (memory != least) {
        EXPECT_EQ(program.on(tape), expected) << "behind the first";
      }
      tape.clear();
      EXPECT_EQ(program.on(tape), expected) << "again";
    }
  }
}

}  // namespace
}  // namespace tidemark::scalars
