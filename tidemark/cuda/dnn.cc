#include "tidemark/cuda/dnn.h"

#include <fmt/format.h>

#include <algorithm>

#include "tidemark/base/error.h"
#include "tidemark/cuda/dnn_configuration.h"
#include "tidemark/cuda/dnn_operation.h"
#include "tidemark/cuda/kernel_cache.h"
#include "tidemark/cuda/trial.h"

#ifdef TIDEMARK_HAS_CUDNN

namespace tidemark::cuda {

Dnn::Dnn(const DnnFunctions& functions, const Stream& stream)
    : functions_(functions),
      stream_(stream),
      choices_(KernelCache::default_folder(),
               fmt::format("{}, {} multiprocessors, {}, cuDNN {}", stream.context().facts().name,
                           stream.context().facts().multiprocessors,
                           name_of(stream.context().facts().architecture), functions.version())) {}

std::unique_ptr<Dnn> Dnn::open(const Stream& stream) {
  const Result<DnnFunctions, std::string>& opened = dnn_functions();
  if (!opened) return nullptr;
  std::unique_ptr<Dnn> dnn(new Dnn(opened.value(), stream));
  if (dnn->functions_.create(&dnn->handle_) != CUDNN_STATUS_SUCCESS) {
    dnn->handle_ = nullptr;
    return nullptr;
  }
  const cudnnStatus_t status = dnn->functions_.set_stream(dnn->handle_, stream.get());
  return status == CUDNN_STATUS_SUCCESS ? std::move(dnn) : nullptr;
}

Dnn::~Dnn() {
  engines_.clear();
  if (handle_) functions_.destroy(handle_);
}

const Dnn::Engine* Dnn::engine(const ConvForm& form, std::int64_t alignment) {
  const auto [found, is_new] = engines_.try_emplace({form, alignment});
  if (is_new) found->second = choose(form, alignment);
  return found->second.get();
}

std::unique_ptr<Dnn::Engine> Dnn::choose(const ConvForm& form, std::int64_t alignment) const {
  if (!may_go_to_library(form)) return nullptr;
  const auto engine_at = [&](const ProductAlgorithm& place) -> std::unique_ptr<Engine> {
    std::vector<Candidate> list = candidates(form, alignment, 1, &place);
    return list.empty() ? nullptr : std::move(list.front().engine);
  };
  const std::string key = key_of(form);
  const bool may_time = alignment == timed_alignment;
  const std::optional<ProductAlgorithm> kept = may_time ? choices_.find(key) : std::nullopt;
  if (kept) {
    if (auto engine = engine_at(*kept)) return engine;
  } else if (may_time && ProductChoices::timing_is_asked_for()) {
    constexpr std::size_t tried = 10;
    const std::vector<Candidate> list = candidates(form, alignment, tried);
    if (list.empty()) return nullptr;
    const auto counts = choices_.keep(key, list[fastest_of(form, list)].place);
    if (auto engine = counts ? engine_at(*counts) : nullptr) return engine;
  }
  std::vector<Candidate> first = candidates(form, alignment, 1);
  return first.empty() ? nullptr : std::move(first.front().engine);
}

// Null: the library refuses it, or it takes more workspace than the plan has, or breaks a promise.
std::unique_ptr<Dnn::Engine> Dnn::made_ready(const ConvForm& form,
                                             const DnnDescription& configuration) const {
  const DnnFunctions& f = functions_;
  const DnnDescription engine = engine_of(f, configuration);
  if (!engine || !keeps_promises(f, engine, form.dtype)) return nullptr;
  const std::optional<EngineChoice> choice = choice_of(f, configuration);
  if (!choice) return nullptr;
  DnnDescription plan(f, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle_)
      .set_part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration)
      .finalize();
  if (!plan.good()) return nullptr;
  std::int64_t bytes = 0, count = 0;
  if (f.get(plan.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count, &bytes) !=
          CUDNN_STATUS_SUCCESS ||
      bytes > form.workspace_bytes)
    return nullptr;
  return std::make_unique<Engine>(Engine{.plan = std::move(plan), .choice = *choice});
}

const Dnn::Engine* Dnn::recorded_engine(const ConvForm& form, std::int64_t alignment,
                                        const EngineChoice& choice) {
  if (choice.version != version() || !may_go_to_library(form)) return nullptr;
  std::unique_ptr<Engine>& known = engines_[{form, alignment}];
  if (known && known->choice == choice) return known.get();
  const DnnOperation operation(functions_, handle_, form, alignment);
  if (!operation.good()) return nullptr;
  const DnnConfiguration made = configuration_of(functions_, operation.graph, choice);
  if (made.good()) known = made_ready(form, made.configuration);
  return known && known->choice == choice ? known.get() : nullptr;
}

// In the order of the library's advice, so many at most; or the one at that place alone.
std::vector<Dnn::Candidate> Dnn::candidates(const ConvForm& form, std::int64_t alignment, std::size_t most,
                                            const ProductAlgorithm* place) const {
  std::vector<Candidate> list;
  const DnnFunctions& f = functions_;
  const DnnOperation operation(f, handle_, form, alignment);
  if (!operation.good()) return list;
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    std::uint64_t at = 0;
    for (const DnnDescription& configuration : advised(f, operation.graph, mode)) {
      const DnnDescription engine = engine_of(f, configuration);
      const ProductAlgorithm here = {static_cast<std::uint64_t>(mode), at++,
                                     engine ? static_cast<std::uint64_t>(number_of(f, engine)) : 0};
      if (place && *place != here) continue;
      std::unique_ptr<Engine> ready = made_ready(form, configuration);
      if (!ready) continue;
      list.push_back({.engine = std::move(ready), .place = here});
      if (list.size() == most) return list;
    }
  }
  return list;
}

// The first where the GPU has no memory left for the operands.
std::size_t Dnn::fastest_of(const ConvForm& form, const std::vector<Candidate>& list) const {
  const Context& context = stream_.context();
  const std::int64_t size = size_of(form.dtype);
  try {
    const TrialMemory x(context, form.x.count() * size), w(context, form.w.count() * size),
        y(context, form.y.count() * size),
        workspace(context, std::max<std::int64_t>(form.workspace_bytes, 1));
    fill_with_numbers(stream_, x.at(), form.x.count() * size, form.dtype);
    fill_with_numbers(stream_, w.at(), form.w.count() * size, form.dtype);
    fill_with_numbers(stream_, y.at(), form.y.count() * size, form.dtype);
    return fastest_in(stream_, list.size(), [&](std::size_t i) {
      return begin(*list[i].engine, x.at(), w.at(), y.at(), workspace.at()) == CUDNN_STATUS_SUCCESS;
    });
  } catch (const DeviceError& error) {
    if (error.code() != ErrorCode::out_of_memory) throw;
    return 0;
  }
}

cudnnStatus_t Dnn::begin(const Engine& engine, CUdeviceptr x, CUdeviceptr w, CUdeviceptr y,
                         CUdeviceptr workspace) const {
  const std::int64_t ids[] = {dnn_x_id, dnn_w_id, dnn_y_id};
  void* const pointers[] = {reinterpret_cast<void*>(x), reinterpret_cast<void*>(w),
                            reinterpret_cast<void*>(y)};
  void* const scratch = reinterpret_cast<void*>(workspace);
  DnnDescription places(functions_, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  places.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 3, ids)
      .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3, pointers)
      .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &scratch)
      .finalize();
  return places.good() ? functions_.execute(handle_, engine.plan.get(), places.get())
                       : CUDNN_STATUS_BAD_PARAM;
}

void Dnn::put(const Engine& engine, CUdeviceptr x, CUdeviceptr w, CUdeviceptr y,
              CUdeviceptr workspace) const {
  const cudnnStatus_t status = begin(engine, x, w, y, workspace);
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw DeviceError(
      ErrorCode::device_failure,
      {.what = fmt::format("cuDNN failed when a convolution was begun: {}", functions_.status_text(status))});
}

}  // namespace tidemark::cuda

#endif
