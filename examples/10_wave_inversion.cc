// What lies inside, from what is heard outside: full-waveform inversion. Sources around a square of unknown
// rock are fired one by one, receivers around it listen, and L-BFGS changes the velocity in every cell until
// the simulated sound is the sound that was heard. The gradient of a whole simulation is taken inside a byte
// budget, by a checkpoint schedule; the simulation (wave.h) has no tensor in it.
//
//   10_wave_inversion [--cells 56] [--iterations 20] [--memory 512KiB] [--threads 1] [--output FOLDER]
//
// Writes wave_truth.ppm, wave_start.ppm and wave_result.ppm. Try --cells 120 --iterations 30 --memory 3MiB.
#include <fmt/core.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <deque>
#include <fstream>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>

#include "examples/options.h"
#include "examples/wave.h"
#include "tidemark/base/bytes.h"
#include "tidemark/schedule/run.h"

namespace td = tidemark;
using namespace td::literals;

namespace {

struct Settings {
  int cells = 56, iterations = 20, threads = 1;
  td::Bytes memory = 512_KiB;
  std::string output = ".";
};

constexpr double spacing = 10, interval = 0.002;             // metres, seconds
constexpr double frequency = 20;                             // of the sources, per second
constexpr double background = 2.0, least = 1.5, most = 2.8;  // kilometres per second
constexpr double courant_of(double velocity) { return velocity * 1000 * interval / spacing; }

using Step = td::schedule::Step;
using Values = std::vector<double>;  // one for each unknown cell

// The survey: a ring of sources and receivers; the unknowns are the cells within it.
struct Survey {
  explicit Survey(const Settings& settings)
      : cells(settings.cells), sponge(std::max(8, cells / 8)), ring(sponge + 1), steps(9 * cells / 2) {}

  int inside() const { return cells - 2 * (ring + 2); }
  std::size_t unknowns() const {
    return static_cast<std::size_t>(inside()) * static_cast<std::size_t>(inside());
  }

  // The k-th of n places around the ring.
  wave::Cell place(int k, int n) const {
    const int side = cells - 1 - 2 * ring, along = 4 * side * k / n, rest = along % side;
    switch (along / side) {
      case 0:
        return {ring, ring + rest};
      case 1:
        return {ring + rest, ring + side};
      case 2:
        return {ring + side, ring + side - rest};
      default:
        return {ring + side - rest, ring};
    }
  }

  int receivers() const { return 2 * cells; }
  std::int64_t state_bytes() const { return 2 * std::int64_t(sizeof(float)) * cells * cells; }
  std::int64_t record_bytes() const {
    return std::int64_t(sizeof(float)) * (std::int64_t(cells) * cells + receivers());
  }

  std::vector<wave::Shot<float>> shots(int sources) const {
    std::vector<wave::Cell> heard_at;
    for (int k = 0; k < receivers(); ++k) heard_at.push_back(place(k, receivers()));
    std::vector<wave::Shot<float>> shots;
    for (int k = 0; k < sources; ++k)
      shots.push_back({place(k, sources), wave::ricker<float>(steps, frequency * interval), heard_at, {}});
    return shots;
  }

  wave::Medium<float> medium(const Values& velocity) const {
    wave::Medium<float> medium(cells, cells, sponge);
    medium.courant2 =
        wave::Field<float>(cells, cells, static_cast<float>(std::pow(courant_of(background), 2)));
    for (int y = 0; y < inside(); ++y)
      for (int x = 0; x < inside(); ++x)
        medium.courant2.at(y + ring + 2, x + ring + 2) =
            static_cast<float>(std::pow(courant_of(velocity[index(y, x)]), 2));
    return medium;
  }

  std::size_t index(int y, int x) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(inside()) + static_cast<std::size_t>(x);
  }

  int cells, sponge, ring;
  Step steps;
};

// A fast disk and a slow, tilted lens.
Values true_velocity(const Survey& survey) {
  Values velocity(survey.unknowns(), background);
  const double n = survey.inside();
  for (int y = 0; y < survey.inside(); ++y)
    for (int x = 0; x < survey.inside(); ++x) {
      const double u = (x + 0.5) / n, v = (y + 0.5) / n;
      if (std::hypot(u - 0.32, v - 0.33) < 0.17) velocity[survey.index(y, x)] = 2.25;
      const double a = (u - 0.64) * 0.8 + (v - 0.66) * 0.6, b = (v - 0.66) * 0.8 - (u - 0.64) * 0.6;
      if (std::hypot(a / 0.1, b / 0.26) < 1) velocity[survey.index(y, x)] = 1.78;
    }
  return velocity;
}

// One line that is written over on a terminal, and stays in a file.
class Bar {
 public:
  Bar(td::Bytes memory, int iterations)
      : memory_(memory), iterations_(iterations), terminal_(isatty(fileno(stdout)) != 0) {}

  void update(td::Bytes held, Step predicted, Step taken) const {
    if (terminal_) print(held, predicted, taken, "\x1b[K\r");
  }
  void finish(int iteration, double misfit, td::Bytes held, Step predicted, Step taken) {
    iteration_ = iteration, misfit_ = misfit;
    print(held, predicted, taken, "\n");
  }

 private:
  void print(td::Bytes held, Step predicted, Step taken, const char* end) const {
    const std::string filled(static_cast<std::size_t>(20 * iteration_ / iterations_), '#');
    fmt::print("[{:.<20}] {:>3}/{}  misfit {:9.3e}  memory {} of {}  forward steps {} predicted, {} taken{}",
               filled, iteration_, iterations_, misfit_, to_string(held), to_string(memory_), predicted,
               taken, end);
    std::fflush(stdout);
  }

  td::Bytes memory_;
  int iterations_, iteration_ = 0;
  bool terminal_;
  double misfit_ = INFINITY;
};

// The misfit of all shots and its gradient: one schedule, planned once, carried out for each shot in the same
// memory.
class Misfit {
 public:
  Misfit(const Settings& settings, const Survey& survey, const std::vector<wave::Shot<float>>& shots,
         Bar& bar)
      : settings_(settings), survey_(survey), shots_(shots), bar_(bar), pool_(settings.threads) {
    schedule_ = td::schedule::make_schedule({.steps = survey.steps,
                                             .levels = {{.bytes = settings.memory.count}},
                                             .state_bytes = survey.state_bytes(),
                                             .record_bytes = survey.record_bytes()});
  }

  double operator()(const Values& velocity, Values& gradient) {
    const wave::Medium<float> medium = survey_.medium(velocity);
    wave::Adjoint<float> adjoint(survey_.cells, survey_.cells);
    held = td::Bytes();
    taken = 0;
    for (const wave::Shot<float>& shot : shots_) {
      wave::Stepper<float> stepper(medium, shot, &pool_);
      wave::State<float> state(survey_.cells, survey_.cells);
      adjoint.now = adjoint.later = wave::Field<float>(survey_.cells, survey_.cells);
      const auto progress = [&](const td::schedule::Progress& now) {
        bar_.update(now.held, predicted(), taken + now.forward);
      };
      const td::schedule::Report report = td::schedule::run(stepper, state, adjoint, *schedule_,
                                                            {.levels = {{.bytes = settings_.memory}},
                                                             .progress = progress,
                                                             .record_bytes = survey_.record_bytes()});
      held = std::max(held, report.levels[0].peak_bytes);
      taken += report.actual_forward();
    }
    const int edge = survey_.ring + 2;
    for (int y = 0; y < survey_.inside(); ++y)
      for (int x = 0; x < survey_.inside(); ++x) {
        const double by_courant2 = adjoint.courant2.at(y + edge, x + edge);
        gradient[survey_.index(y, x)] =
            by_courant2 * 2 * velocity[survey_.index(y, x)] * std::pow(courant_of(1), 2);
      }
    return adjoint.misfit;
  }

  // The forward steps of one call.
  Step predicted() const { return schedule_->promise().total_forward() * static_cast<Step>(shots_.size()); }

  td::Bytes held;  // by the schedule at its fullest, in the last call
  Step taken = 0;

 private:
  const Settings& settings_;
  const Survey& survey_;
  const std::vector<wave::Shot<float>>& shots_;
  Bar& bar_;
  td::ThreadPool pool_;
  std::unique_ptr<td::schedule::Schedule> schedule_;
};

double dot(const Values& a, const Values& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Minus the inverse Hessian times the gradient, as far as the last changes know it (Nocedal 1980).
class Lbfgs {
 public:
  void learn(Values dx, Values dg) {
    if (dot(dx, dg) <= 0) return;
    pairs_.push_back({std::move(dx), std::move(dg)});
    if (pairs_.size() > 6) pairs_.pop_front();
  }
  Values direction(Values d, double first_step) const {
    std::vector<double> alpha(pairs_.size());
    for (std::size_t k = pairs_.size(); k-- > 0;) {
      const auto& [dx, dg] = pairs_[k];
      alpha[k] = dot(dx, d) / dot(dx, dg);
      for (std::size_t i = 0; i < d.size(); ++i) d[i] -= alpha[k] * dg[i];
    }
    double scale = first_step;
    if (!pairs_.empty())
      scale = dot(pairs_.back().dx, pairs_.back().dg) / dot(pairs_.back().dg, pairs_.back().dg);
    for (double& value : d) value *= -scale;
    for (std::size_t k = 0; k < pairs_.size(); ++k) {
      const auto& [dx, dg] = pairs_[k];
      const double beta = -dot(dg, d) / dot(dx, dg);
      for (std::size_t i = 0; i < d.size(); ++i) d[i] -= (alpha[k] - beta) * dx[i];
    }
    return d;
  }

 private:
  struct Pair {
    Values dx, dg;
  };
  std::deque<Pair> pairs_;
};

// Blue is slow, red is fast; eight pixels a cell on small grids.
void write_picture(const std::string& path, const Survey& survey, const Values& velocity) {
  const int n = survey.inside(), zoom = std::max(1, 320 / n);
  std::ofstream file(path, std::ios::binary);
  file << fmt::format("P6\n{} {}\n255\n", n * zoom, n * zoom);
  for (int y = 0; y < n * zoom; ++y)
    for (int x = 0; x < n * zoom; ++x) {
      const double t = std::clamp((velocity[survey.index(y / zoom, x / zoom)] - background) / 0.3, -1.0, 1.0);
      const auto fade = [&](double t) {
        return static_cast<char>(static_cast<unsigned char>(247 - 200 * std::max(0.0, t)));
      };
      file.put(fade(-t)).put(fade(std::abs(t))).put(fade(t));
    }
  if (!file) throw std::runtime_error("cannot write " + path);
}

double rms(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

// What the receivers would hear if this were the rock.
void observe(std::vector<wave::Shot<float>>& shots, const Survey& survey, const Values& velocity) {
  const wave::Medium<float> medium = survey.medium(velocity);
  for (wave::Shot<float>& shot : shots) {
    const std::size_t n = shot.receivers.size();
    std::vector<float> heard(static_cast<std::size_t>(survey.steps) * n);
    wave::Stepper<float> stepper(medium, shot);
    wave::State<float> state(survey.cells, survey.cells);
    for (Step i = 0; i < survey.steps; ++i) {
      stepper.advance(state, {i, i + 1});
      stepper.hear(state, heard.data() + static_cast<std::size_t>(i) * n);
    }
    shot.observed = std::move(heard);
  }
}

Values invert(const Settings& settings, const Survey& survey, Misfit& misfit, Bar& bar) {
  Values velocity(survey.unknowns(), background), gradient(velocity.size());
  double value = misfit(velocity, gradient);
  Lbfgs lbfgs;
  for (int iteration = 0;; ++iteration) {
    bar.finish(iteration, value, misfit.held, misfit.predicted(), misfit.taken);
    if (iteration == settings.iterations) return velocity;
    double steepest = 0;
    for (const double g : gradient) steepest = std::max(steepest, std::abs(g));
    const Values direction =
        lbfgs.direction(gradient, 0.05 / steepest);  // at first 50 m/s where it matters most
    Values tried(velocity.size()), new_gradient(velocity.size()), dx(velocity.size()), dg(velocity.size());
    double step = 1, new_value = value;
    for (int attempt = 0; attempt < 5; ++attempt, step /= 2) {
      for (std::size_t i = 0; i < tried.size(); ++i)
        tried[i] = std::clamp(velocity[i] + step * direction[i], least, most);
      new_value = misfit(tried, new_gradient);
      if (new_value < value) break;
    }
    if (!(new_value < value)) return velocity;
    for (std::size_t i = 0; i < tried.size(); ++i)
      dx[i] = tried[i] - velocity[i], dg[i] = new_gradient[i] - gradient[i];
    lbfgs.learn(std::move(dx), std::move(dg));
    velocity = std::move(tried), gradient = std::move(new_gradient), value = new_value;
  }
}

void run(const Settings& settings) {
  if (settings.cells < 40) throw std::runtime_error("--cells: 40 at least, for the ring and what is in it");
  const Survey survey(settings);
  std::vector<wave::Shot<float>> shots = survey.shots(8);
  const Values truth = true_velocity(survey), start(truth.size(), background);
  observe(shots, survey, truth);

  fmt::print("{} x {} cells, {} steps, {} sources, {} receivers; all records of one shot would take {}\n",
             survey.cells, survey.cells, survey.steps, shots.size(), survey.receivers(),
             to_string(td::Bytes(survey.record_bytes() * survey.steps)));
  Bar bar(settings.memory, settings.iterations);
  Misfit misfit(settings, survey, shots, bar);
  const Values result = invert(settings, survey, misfit, bar);

  write_picture(settings.output + "/wave_truth.ppm", survey, truth);
  write_picture(settings.output + "/wave_start.ppm", survey, start);
  write_picture(settings.output + "/wave_result.ppm", survey, result);
  const double before = 1000 * rms(start, truth), after = 1000 * rms(result, truth);
  fmt::print("velocity off by {:.0f} m/s (rms) at the start, {:.0f} m/s now\n", before, after);
  if (after >= 0.6 * before) throw std::runtime_error("that is no picture yet: try more --iterations");
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  Options options("Finds the velocity inside a square of rock from what is heard around it, and draws it.");
  options.add("--cells", settings.cells, "along a side, 40 at least")
      .add("--iterations", settings.iterations, "of L-BFGS")
      .add("--memory", settings.memory, "for the states and records of a simulation")
      .add("--threads", settings.threads, "of a simulation")
      .add("--output", settings.output, "a folder, for three pictures");
  return options.run(argc, argv, [&] { run(settings); });
}
