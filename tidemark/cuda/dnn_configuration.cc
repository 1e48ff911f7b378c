#include "tidemark/cuda/dnn_configuration.h"

#include <algorithm>

#ifdef TIDEMARK_HAS_CUDNN

namespace tidemark::cuda {
namespace {

constexpr std::int64_t most_knobs = 64;  // of an engine; the library's types are fewer
static_assert(CUDNN_KNOB_TYPE_COUNTS <= most_knobs);

}  // namespace

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

std::int64_t number_of(const DnnFunctions& f, const DnnDescription& engine) {
  std::int64_t number = -1, count = 0;
  const cudnnStatus_t status =
      f.get(engine.get(), CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &count, &number);
  return status == CUDNN_STATUS_SUCCESS ? number : -1;
}

bool keeps_promises(const DnnFunctions& f, const DnnDescription& engine, DType dtype) {
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

std::optional<EngineChoice> choice_of(const DnnFunctions& f, const DnnDescription& configuration) {
  const DnnDescription engine = engine_of(f, configuration);
  EngineChoice choice{.version = static_cast<std::int64_t>(f.version()),
                      .engine = engine ? number_of(f, engine) : -1};
  if (choice.engine < 0) return std::nullopt;
  std::vector<DnnDescription> knobs;
  std::vector<cudnnBackendDescriptor_t> list;
  for (std::int64_t i = 0; i < most_knobs; ++i) {
    knobs.emplace_back(f, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    list.push_back(knobs.back().get());
  }
  std::int64_t count = 0, one = 0;
  if (f.get(configuration.get(), CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR, most_knobs,
            &count, list.data()) != CUDNN_STATUS_SUCCESS ||
      count > most_knobs)
    return std::nullopt;
  knobs.resize(static_cast<std::size_t>(count));
  for (const DnnDescription& knob : knobs) {
    cudnnBackendKnobType_t type = {};
    std::int64_t value = 0;
    if (f.get(knob.get(), CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &one, &type) !=
            CUDNN_STATUS_SUCCESS ||
        f.get(knob.get(), CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1, &one, &value) !=
            CUDNN_STATUS_SUCCESS)
      return std::nullopt;
    choice.knobs.push_back({static_cast<std::int64_t>(type), value});
  }
  return choice;
}

DnnConfiguration configuration_of(const DnnFunctions& f, const DnnDescription& graph,
                                  const EngineChoice& choice) {
  DnnConfiguration made{.engine = DnnDescription(f, CUDNN_BACKEND_ENGINE_DESCRIPTOR),
                        .knobs = {},
                        .configuration = DnnDescription(f, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)};
  made.engine.set_part(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph)
      .set_one(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, choice.engine)
      .finalize();
  std::vector<cudnnBackendDescriptor_t> list;
  bool good = made.engine.good();
  for (const EngineChoice::Knob& knob : choice.knobs) {
    const auto type = static_cast<cudnnBackendKnobType_t>(knob.type);
    made.knobs.emplace_back(f, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    good = good && made.knobs.back()
                       .set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &type)
                       .set_one(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, knob.value)
                       .finalize()
                       .good();
    list.push_back(made.knobs.back().get());
  }
  if (!good) {
    made.configuration = {};
    return made;
  }
  made.configuration.set_part(CUDNN_ATTR_ENGINECFG_ENGINE, made.engine);
  if (!list.empty()) {
    made.configuration.set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR, std::ssize(list),
                           list.data());
  }
  made.configuration.finalize();
  return made;
}

}  // namespace tidemark::cuda

#endif
