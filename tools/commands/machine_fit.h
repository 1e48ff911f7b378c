// `tidemark machine --from PROFILE…`: rates fitted to what plans took, instead of measured now.
#pragma once
#include <string>
#include <vector>

#include "tidemark/cpu/fit_profiles.h"

namespace tidemark::cli {

// `base`: the file of the machine to begin with; empty: what the library has for the profiles' target.
FittedMachine fitted_machine(const std::vector<std::string>& files, const std::string& base);

// Errors of predictions before and after, by kind of work.
std::string to_text(const FittedMachine& fitted);

}  // namespace tidemark::cli
