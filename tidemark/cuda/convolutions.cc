#include "tidemark/cuda/convolutions.h"

#include <fmt/format.h>

#include "tidemark/base/error.h"

#ifdef TIDEMARK_HAS_CUDA

namespace tidemark::cuda {

#ifdef TIDEMARK_HAS_CUDNN

Dnn* Convolutions::library() {
  if (!asked_) dnn_ = Dnn::open(stream_);
  asked_ = true;
  return dnn_.get();
}

const Dnn::Engine* Convolutions::settled(const ConvForm& form, PlanAlgorithms& algorithms) {
  const std::string key = key_of(form);
  const std::optional<std::string> recorded = algorithms.recorded(key);
  const Dnn::Engine* engine = nullptr;
  if (!recorded) {
    engine = library() ? library()->engine(form, Dnn::timed_alignment) : nullptr;
  } else if (*recorded != generated_convolution) {
    const std::optional<EngineChoice> choice = engine_choice_of(*recorded);
    if (choice && library()) engine = library()->recorded_engine(form, Dnn::timed_alignment, *choice);
    if (!engine)
      algorithms.refuse(key, library()         ? fmt::format("cuDNN {}", library()->version())
                             : dnn_functions() ? "no cuDNN that starts"
                                               : fmt::format("no cuDNN: {}", dnn_functions().error()));
  }
  algorithms.note(key, engine ? to_text(engine->choice) : std::string(generated_convolution));
  return engine;
}

std::optional<std::size_t> Convolutions::add(const ConvForm& form, PlanAlgorithms& algorithms) {
  if (!may_go_to_library(form)) return std::nullopt;
  const Dnn::Engine* const engine = settled(form, algorithms);
  if (!engine) return std::nullopt;
  ready_.push_back({engine, form});
  return ready_.size() - 1;
}

// Engines for other addresses are never timed: the library's advice, the same for the same version, which a
// plan that records engines names.
void Convolutions::put(std::size_t number, CUdeviceptr x, CUdeviceptr w, CUdeviceptr y, CUdeviceptr workspace,
                       SourceLine where) {
  const Ready& ready = ready_[number];
  const Dnn::Engine* engine = ready.engine;
  if ((x | w | y) % Dnn::timed_alignment != 0) {
    engine = dnn_->engine(ready.form, size_of(ready.form.dtype));
    if (!engine) {
      fail(ErrorCode::no_kernel, {.what = "a convolution of operands at such addresses has no kernel on CUDA",
                                  .expected = "addresses that are multiples of 16 bytes",
                                  .where = where,
                                  .help = "copy the memory of the other library into a tensor"});
    }
  }
  dnn_->put(*engine, x, w, y, workspace);
}

#else

std::optional<std::size_t> Convolutions::add(const ConvForm& form, PlanAlgorithms& algorithms) {
  if (!may_go_to_library(form)) return std::nullopt;
  const std::string key = key_of(form);
  const std::optional<std::string> recorded = algorithms.recorded(key);
  if (recorded && *recorded != generated_convolution)
    algorithms.refuse(key, "a build of the library without cuDNN");
  algorithms.note(key, std::string(generated_convolution));
  return std::nullopt;
}

void Convolutions::put(std::size_t, CUdeviceptr, CUdeviceptr, CUdeviceptr, CUdeviceptr, SourceLine) {}

#endif

}  // namespace tidemark::cuda

#endif
