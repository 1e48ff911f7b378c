#include "tidemark/scalar/stepper.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "tidemark/schedule/run.h"

namespace tidemark::scalars {
namespace {

constexpr std::size_t n = 30;
constexpr std::int64_t steps = 120;

void burgers(std::span<Real> u, std::span<const Real> p, std::int64_t i) {
  Real left = u[0];
  for (std::size_t k = 1; k + 1 < u.size(); ++k) {
    const Real here = u[k];
    u[k] = here - p[0] * here * (here - left) + p[1] * (u[k + 1] - 2 * here + left);
    left = here;
  }
  if (i % 4 == 0) u[2] = u[2] * p[1] + p[0];
}

std::vector<double> initial() {
  std::vector<double> u(n);
  for (std::size_t i = 0; i < n; ++i) u[i] = 1 + 0.5 * std::sin(0.3 * static_cast<double>(i));
  return u;
}

std::vector<double> slopes() {
  std::vector<double> s(n);
  for (std::size_t i = 0; i < n; ++i) s[i] = 1 + 0.1 * static_cast<double>(i);
  return s;
}

const std::vector<double> parameters = {0.1, 0.05};

// By the state and the parameters, of one recording of everything.
std::vector<double> expected() {
  Tape tape;
  const std::vector<Real> p = tape.inputs(parameters), first = tape.inputs(initial());
  std::vector<Real> u = first;
  for (std::int64_t i = 0; i < steps; ++i) burgers(u, p, i);
  std::vector<Tape::Seed> seeds;
  for (std::size_t i = 0; i < n; ++i) seeds.push_back({u[i], slopes()[i]});
  tape.reverse(seeds);
  std::vector<double> gradient = tape.gradient(first);
  for (const double slope : tape.gradient(p)) gradient.push_back(slope);
  return gradient;
}

class Folder {
 public:
  Folder() : path_(std::filesystem::path(::testing::TempDir()) / ("stepper" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST(Stepper, HasTheBitsOfOneRecordingOnEveryLevel) {
  const Folder folder;
  for (const std::vector<schedule::RunLevel>& levels : std::vector<std::vector<schedule::RunLevel>>{
           {},
           {{.slots = 3}},
           {{.bytes = Bytes(4000)}},
           {{.slots = 2}, {.slots = 5, .directory = folder.path()}}}) {
    auto simulation = stepper(burgers, parameters);
    std::vector<double> u = initial(), adjoint = simulation.adjoint(slopes());
    schedule::run(simulation, u, adjoint, steps, {.levels = levels});
    EXPECT_EQ(adjoint, expected());
    EXPECT_EQ(simulation.of_state(adjoint).size(), n);
    EXPECT_EQ(simulation.of_parameters(adjoint).size(), 2u);
  }
}

TEST(Stepper, GoesOnAfterARunThatEnded) {
  const Folder folder;
  const schedule::RunOptions options{.levels = {{.slots = 4, .directory = folder.path()}}, .resume = true};
  struct Stopped {};
  bool stopped = false;
  {
    int taken = 0;
    auto simulation = stepper(
        [&](std::span<Real> u, std::span<const Real> p, std::int64_t i) {
          if (++taken > 250) throw Stopped();
          burgers(u, p, i);
        },
        parameters);
    std::vector<double> u = initial(), adjoint = simulation.adjoint(slopes());
    try {
      schedule::run(simulation, u, adjoint, steps, options);
    } catch (const Stopped&) {
      stopped = true;
    }
  }
  EXPECT_TRUE(stopped);
  auto simulation = stepper(burgers, parameters);
  std::vector<double> u = initial(), adjoint = simulation.adjoint(slopes());
  const schedule::Report report = schedule::run(simulation, u, adjoint, steps, options);
  EXPECT_TRUE(report.resumed.has_value());
  EXPECT_EQ(adjoint, expected());
}

TEST(Stepper, AnAdjointOfAnotherLengthIsRefused) {
  auto simulation = stepper(burgers, parameters);
  std::vector<double> u = initial(), adjoint = slopes();
  EXPECT_THROW(schedule::run(simulation, u, adjoint, 3), Error);
}

}  // namespace
}  // namespace tidemark::scalars
