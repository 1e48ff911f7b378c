#include "tools/commands/machine_fit.h"

#include <fmt/format.h>

#include "tidemark/base/error.h"
#include "tidemark/cuda/machine.h"

namespace tidemark::cli {
namespace {

const Machine& machine_of(const Profile& profile) {
  return profile.target.starts_with("cuda") ? cuda::machine_for(profile.machine) : reference_machine();
}

}  // namespace

FittedMachine fitted_machine(const std::vector<std::string>& files, const std::string& base) {
  std::vector<Profile> profiles;
  for (const std::string& file : files) {
    profiles.push_back(load_profile(file));
    if (profiles.back().target == profiles[0].target) continue;
    fail(ErrorCode::bad_plan_option,
         {.what = fmt::format("--from: {} is of the target {}, {} of {}", files[0], profiles[0].target, file,
                              profiles.back().target),
          .expected = "profiles of one device",
          .help = "fit a machine for each"});
  }
  return fit_profiles(base.empty() ? machine_of(profiles[0]) : load_machine(base), profiles);
}

std::string to_text(const FittedMachine& fitted) {
  std::string text = "how far predictions are off (1.25: a quarter)   before                after\n";
  text += fmt::format("{:<24} {:>9} {:>10} {:>10} {:>10} {:>10}\n", "work", "kernels", "median", "worst",
                      "median", "worst");
  const auto add = [&](const FitError& error) {
    text += fmt::format("{:<24} {:>9} {:>10.2f} {:>10.2f} {:>10.2f} {:>10.2f}\n", error.kind, error.kernels,
                        error.median_before, error.worst_before, error.median_after, error.worst_after);
  };
  for (const FitError& error : fitted.errors) add(error);
  if (fitted.all.kernels > 0) add(fitted.all);
  return text;
}

}  // namespace tidemark::cli
