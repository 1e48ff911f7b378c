#include "tidemark/engine/loop_folder.h"

#include <fmt/format.h>

#include <filesystem>

#include "tidemark/autodiff/disk_loops.h"
#include "tidemark/base/error.h"
#include "tidemark/cpu/device.h"

namespace tidemark {

std::optional<LoopFolder> loop_folder(const Graph& traced) {
  std::optional<LoopFolder> found;
  for (const FolderWish& wish : folder_wishes(traced)) {
    if (wish.inside) continue;  // has no effect
    if (!found) found = LoopFolder{wish.folder, wish.where, !wish.folder.empty()};
    if (wish.folder.empty() || wish.folder == found->path) continue;
    if (found->named) {
      fail(ErrorCode::bad_plan_option,
           {.what = fmt::format("this loop keeps states in {}, another of the function ({}) in {}",
                                wish.folder, short_form(found->where), found->path),
            .expected = "one folder for all loops of a function",
            .where = wish.where});
    }
    found = LoopFolder{wish.folder, wish.where, true};
  }
  if (found && !found->named) {
    std::error_code error;
    const std::filesystem::path path = std::filesystem::temp_directory_path(error);
    found->path = error ? "/tmp" : path.string();
  }
  return found;
}

std::shared_ptr<Device> with_loop_folder(std::shared_ptr<Device> device, const Plan& plan,
                                         const Graph& traced) {
  const auto cpu = std::dynamic_pointer_cast<CpuDevice>(device);
  if (plan.further.empty() || !cpu) return device;
  const std::optional<LoopFolder> folder = loop_folder(traced);
  if (!folder) return device;
  auto with_folder = std::make_shared<CpuDevice>(cpu->shared_pool());
  at_line(folder->where, [&] { with_folder->use_folder(1, folder->path); });
  return with_folder;
}

}  // namespace tidemark
