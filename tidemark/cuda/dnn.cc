#include "tidemark/cuda/dnn.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tidemark/base/error.h"
#include "tidemark/cuda/kernel_cache.h"
#include "tidemark/cuda/shared_library.h"
#include "tidemark/cuda/trial.h"

#ifdef TIDEMARK_HAS_CUDNN

namespace tidemark::cuda {
namespace {

constexpr std::int64_t x_id = 1, w_id = 2, y_id = 3;  // of tensors, as the library wants them

Result<DnnFunctions, std::string> open_dnn() {
  const std::string names[] = {"libcudnn.so.9"};
  const std::vector<std::string> folders = dnn_folders();
  const Result<SharedLibrary, std::string> library = SharedLibrary::open(names, folders);
  if (!library) return library.error();
  DnnFunctions functions;
  std::string missing;
  const auto find = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(library.value().find(symbol));
    if (!function && missing.empty()) missing = symbol;
  };
#define TM_FIND(name, symbol) find(functions.name, #symbol);
  TM_DNN_FUNCTIONS(TM_FIND)
#undef TM_FIND
  if (!missing.empty()) return library.value().name() + " has no " + missing;
  return functions;
}

cudnnDataType_t dnn_type(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return CUDNN_DATA_BFLOAT16;
    case DType::f16:
      return CUDNN_DATA_HALF;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

// The library wants two spatial dimensions at least.
int first_spatial(const ConvForm& form) { return form.spatial == 3 ? 0 : 1; }

DnnDescription described_tensor(const DnnFunctions& f, const ConvForm& form, const ConvTensor& of,
                                std::int64_t id, std::int64_t alignment) {
  std::vector<std::int64_t> sizes = {of.size[0], of.size[1]}, strides = {of.stride[0], of.stride[1]};
  for (int d = first_spatial(form); d < 3; ++d) {
    sizes.push_back(of.size[static_cast<std::size_t>(d + 2)]);
    strides.push_back(of.stride[static_cast<std::size_t>(d + 2)]);
  }
  const cudnnDataType_t type = dnn_type(form.dtype);
  DnnDescription made(f, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type)
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, std::ssize(sizes), sizes.data())
      .set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, std::ssize(strides), strides.data())
      .set_one(CUDNN_ATTR_TENSOR_UNIQUE_ID, id)
      .set_one(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, alignment)
      .finalize();
  return made;
}

DnnDescription described_windows(const DnnFunctions& f, const ConvForm& form) {
  const auto first = static_cast<std::size_t>(first_spatial(form));
  const auto count = static_cast<std::int64_t>(3 - first);
  const cudnnDataType_t type = CUDNN_DATA_FLOAT;
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  DnnDescription made(f, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  made.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type)
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode)
      .set_one(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, count)
      .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, count, form.dilation.data() + first)
      .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, count, form.stride.data() + first)
      .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, count, form.low.data() + first)
      .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, count, form.low.data() + first)
      .finalize();
  return made;
}

// With as much padding behind as before, are there as many outputs? Then it means the same.
bool is_even(const ConvForm& form) {
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t reach = form.dilation[d] * (form.w.size[d + 2] - 1) + 1;
    if ((form.x.size[d + 2] + 2 * form.low[d] - reach) / form.stride[d] + 1 != form.y.size[d + 2])
      return false;
  }
  return true;
}
// Gradients of the weights in three dimensions and 16 bits, with more padding on one side, came out wrong on
// an H200 (cuDNN of PyTorch 2.11): neither is left to the library.
bool is_trusted(const ConvForm& form) {
  const bool is_empty = form.x.count() == 0 || form.w.count() == 0 || form.y.count() == 0;
  const bool is_narrow = form.dtype == DType::bf16 || form.dtype == DType::f16;
  return form.dtype != DType::f64 && !is_empty && is_even(form) &&
         !(is_narrow && form.part == ConvPart::weight_grad && form.spatial == 3);
}

// The names of a part's attributes.
struct PartNames {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t x, w, y, windows, alpha, beta;
};
PartNames names_of(ConvPart part) {
  switch (part) {
    case ConvPart::input_grad:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case ConvPart::weight_grad:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
    default:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
  }
}

// What the heuristics advise, best first.
std::vector<DnnDescription> advised(const DnnFunctions& f, const DnnDescription& graph,
                                    cudnnBackendHeurMode_t mode) {
  std::vector<DnnDescription> configs;
  DnnDescription advice(f, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  advice.set_part(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph)
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode)
      .finalize();
  if (!advice.good()) return configs;
  std::int64_t count = 0;
  if (f.get(advice.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr) !=
      CUDNN_STATUS_SUCCESS)
    return configs;
  std::vector<cudnnBackendDescriptor_t> list;
  for (std::int64_t i = 0; i < count; ++i) {
    configs.emplace_back(f, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    list.push_back(configs.back().get());
  }
  std::int64_t filled = 0;
  if (f.get(advice.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &filled,
            list.data()) != CUDNN_STATUS_SUCCESS)
    filled = 0;
  while (std::ssize(configs) > filled) configs.pop_back();
  return configs;
}

DnnDescription engine_of(const DnnFunctions& f, const DnnDescription& config) {
  DnnDescription engine(f, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t place = engine.get();
  std::int64_t count = 0;
  const cudnnStatus_t status =
      f.get(config.get(), CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &place);
  return status == CUDNN_STATUS_SUCCESS ? std::move(engine) : DnnDescription();
}
// The library's own; -1: it does not say.
std::int64_t number_of(const DnnFunctions& f, const DnnDescription& engine) {
  std::int64_t number = -1, count = 0;
  const cudnnStatus_t status =
      f.get(engine.get(), CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &count, &number);
  return status == CUDNN_STATUS_SUCCESS ? number : -1;
}

// Does the engine keep our promises?
bool is_allowed(const DnnFunctions& f, const DnnDescription& engine, DType dtype) {
  cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT] = {};
  std::int64_t count = 0;
  if (f.get(engine.get(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
            CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, notes) != CUDNN_STATUS_SUCCESS)
    return false;
  return std::none_of(notes, notes + count, [&](cudnnBackendNumericalNote_t note) {
    switch (note) {
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
      case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
        return dtype == DType::f32;
      case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
      case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
      case CUDNN_NUMERICAL_NOTE_FFT:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD:
        return true;
      default:
        return false;
    }
  });
}

// All that decides which engine is the fastest.
std::string key_of(const ConvForm& form) {
  const auto text = [](const ConvTensor& t) {
    return fmt::format("({}) by ({})", fmt::join(t.size, ", "), fmt::join(t.stride, ", "));
  };
  return fmt::format("convolution {} of {}, {} groups, {} dimensions: {} {} {}, {}; {}; {}; {}, {} bytes",
                     static_cast<int>(form.part), name_of(form.dtype), form.groups, form.spatial,
                     text(form.x), text(form.w), text(form.y), fmt::join(form.stride, ", "),
                     fmt::join(form.low, ", "), fmt::join(form.high, ", "), fmt::join(form.dilation, ", "),
                     form.workspace_bytes);
}

}  // namespace

const Result<DnnFunctions, std::string>& dnn_functions() {
  static const auto* const opened = new Result<DnnFunctions, std::string>(open_dnn());
  return *opened;
}

DnnDescription::DnnDescription(const DnnFunctions& functions, cudnnBackendDescriptorType_t type)
    : functions_(&functions) {
  status_ = functions.make(type, &made_);
  if (status_ != CUDNN_STATUS_SUCCESS) made_ = nullptr;
}
DnnDescription::~DnnDescription() {
  if (made_) functions_->drop(made_);
}
DnnDescription& DnnDescription::set(cudnnBackendAttributeName_t which, cudnnBackendAttributeType_t type,
                                    std::int64_t count, const void* values) {
  if (good()) status_ = functions_->set(made_, which, type, count, values);
  return *this;
}
DnnDescription& DnnDescription::finalize() {
  if (good()) status_ = functions_->finalize(made_);
  return *this;
}

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
  if (!is_trusted(form)) return nullptr;
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

// In the order of the library's advice, so many at most; or the one at that place alone.
std::vector<Dnn::Candidate> Dnn::candidates(const ConvForm& form, std::int64_t alignment, std::size_t most,
                                            const ProductAlgorithm* place) const {
  std::vector<Candidate> list;
  const DnnFunctions& f = functions_;
  const DnnDescription x = described_tensor(f, form, form.x, x_id, alignment),
                       w = described_tensor(f, form, form.w, w_id, alignment),
                       y = described_tensor(f, form, form.y, y_id, alignment),
                       windows_of = described_windows(f, form);
  const PartNames names = names_of(form.part);
  const float one = 1, zero = 0;
  DnnDescription operation(f, names.operation);
  operation.set_part(names.x, x)
      .set_part(names.w, w)
      .set_part(names.y, y)
      .set_part(names.windows, windows_of)
      .set(names.alpha, CUDNN_TYPE_FLOAT, 1, &one)
      .set(names.beta, CUDNN_TYPE_FLOAT, 1, &zero)
      .finalize();
  DnnDescription graph(f, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set_part(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation)
      .set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle_)
      .finalize();
  if (!operation.good() || !graph.good()) return list;
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    std::uint64_t at = 0;
    for (const DnnDescription& config : advised(f, graph, mode)) {
      const DnnDescription engine = engine_of(f, config);
      const ProductAlgorithm here = {static_cast<std::uint64_t>(mode), at++,
                                     engine ? static_cast<std::uint64_t>(number_of(f, engine)) : 0};
      if (!engine || !is_allowed(f, engine, form.dtype) || (place && *place != here)) continue;
      DnnDescription plan(f, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle_)
          .set_part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config)
          .finalize();
      if (!plan.good()) continue;
      std::int64_t bytes = 0, count = 0;
      if (f.get(plan.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count, &bytes) !=
              CUDNN_STATUS_SUCCESS ||
          bytes > form.workspace_bytes)
        continue;
      list.push_back({.engine = std::make_unique<Engine>(Engine{.plan = std::move(plan)}), .place = here});
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
  const std::int64_t ids[] = {x_id, w_id, y_id};
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
