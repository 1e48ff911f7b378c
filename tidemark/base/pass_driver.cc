#include "tidemark/base/pass_driver.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/base/error.h"

namespace tidemark {

void check_skipped_passes(std::span<const PassInfo> passes, std::span<const std::string> skip) {
  for (const std::string& name : skip) {
    const auto pass = std::ranges::find(passes, name, &PassInfo::name);
    if (pass != passes.end() && pass->optional) continue;
    std::string names;
    for (const PassInfo& p : passes) {
      if (p.optional) names += fmt::format("{}{}", names.empty() ? "" : ", ", p.name);
    }
    fail(ErrorCode::bad_plan_option,
         {.what = pass == passes.end() ? fmt::format("there is no pass `{}`", name)
                                       : fmt::format("the pass `{}` cannot be skipped", name),
          .expected = names});
  }
}

}  // namespace tidemark
