// Configurations of engines by their numbers, next to a library that is not there: it keeps what it is told,
// has two engines, and refuses what a real one refuses.
#include "tidemark/cuda/dnn_configuration.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#ifdef TIDEMARK_HAS_CUDNN

namespace tidemark::cuda {
namespace {

struct Described {
  cudnnBackendDescriptorType_t type = {};
  bool finalized = false;
  std::map<int, std::int64_t> numbers = {};
  std::map<int, std::vector<Described>> parts = {};  // as they were when they were told
};
int living = 0;
bool tells_knobs = true;

Described& described(cudnnBackendDescriptor_t of) { return *static_cast<Described*>(of); }

cudnnStatus_t fake_make(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* made) {
  ++living;
  *made = new Described{.type = type};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t fake_drop(cudnnBackendDescriptor_t of) {
  --living;
  delete static_cast<Described*>(of);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t fake_set(cudnnBackendDescriptor_t of, cudnnBackendAttributeName_t which,
                       cudnnBackendAttributeType_t type, std::int64_t count, const void* values) {
  if (described(of).finalized) return CUDNN_STATUS_BAD_PARAM;
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    for (std::int64_t i = 0; i < count; ++i) {
      const Described& part = described(static_cast<const cudnnBackendDescriptor_t*>(values)[i]);
      if (!part.finalized) return CUDNN_STATUS_BAD_PARAM;
      described(of).parts[which].push_back(part);
    }
  } else if (type == CUDNN_TYPE_KNOB_TYPE) {
    described(of).numbers[which] = *static_cast<const cudnnBackendKnobType_t*>(values);
  } else {
    described(of).numbers[which] = *static_cast<const std::int64_t*>(values);
  }
  return CUDNN_STATUS_SUCCESS;
}
// Engine 20 has the knobs 2 (up to 7) and 13 (up to 1), engine 3 has none.
bool is_possible(const Described& whole) {
  if (whole.type == CUDNN_BACKEND_ENGINE_DESCRIPTOR) {
    const std::int64_t number = whole.numbers.at(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
    return whole.parts.contains(CUDNN_ATTR_ENGINE_OPERATION_GRAPH) && (number == 20 || number == 3);
  }
  if (whole.type != CUDNN_BACKEND_ENGINECFG_DESCRIPTOR) return true;
  const Described& engine = whole.parts.at(CUDNN_ATTR_ENGINECFG_ENGINE)[0];
  const auto knobs = whole.parts.find(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES);
  if (knobs == whole.parts.end()) return true;
  if (engine.numbers.at(CUDNN_ATTR_ENGINE_GLOBAL_INDEX) == 3) return false;
  for (const Described& knob : knobs->second) {
    const std::int64_t type = knob.numbers.at(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE),
                       value = knob.numbers.at(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE);
    if ((type != 2 && type != 13) || value < 0 || value > (type == 2 ? 7 : 1)) return false;
  }
  return true;
}
cudnnStatus_t fake_finalize(cudnnBackendDescriptor_t of) {
  described(of).finalized = is_possible(described(of));
  return described(of).finalized ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}
cudnnStatus_t fake_get(const cudnnBackendDescriptor_t of, cudnnBackendAttributeName_t which,
                       cudnnBackendAttributeType_t type, std::int64_t most, std::int64_t* count,
                       void* values) {
  if (!described(of).finalized) return CUDNN_STATUS_BAD_PARAM;
  if (which == CUDNN_ATTR_ENGINECFG_KNOB_CHOICES && !tells_knobs) return CUDNN_STATUS_NOT_SUPPORTED;
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    const std::vector<Described>& parts = described(of).parts[which];
    *count = std::ssize(parts);
    for (std::int64_t i = 0; i < std::min(most, *count); ++i)
      described(static_cast<cudnnBackendDescriptor_t*>(values)[i]) = parts[static_cast<std::size_t>(i)];
  } else if (type == CUDNN_TYPE_KNOB_TYPE) {
    const auto number = static_cast<cudnnBackendKnobType_t>(described(of).numbers.at(which));
    std::memcpy(values, &number, sizeof(number));
  } else {
    std::memcpy(values, &described(of).numbers.at(which), sizeof(std::int64_t));
  }
  return CUDNN_STATUS_SUCCESS;
}
std::size_t fake_version() { return 91002; }

DnnFunctions fake_library() {
  DnnFunctions functions;
  functions.version = fake_version;
  functions.make = fake_make;
  functions.drop = fake_drop;
  functions.finalize = fake_finalize;
  functions.set = fake_set;
  functions.get = fake_get;
  return functions;
}

TEST(DnnConfiguration, OneByItsNumbersHasTheseNumbers) {
  const DnnFunctions library = fake_library();
  {
    DnnDescription graph(library, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    graph.finalize();
    for (const EngineChoice& choice :
         {EngineChoice{.version = 91002, .engine = 20, .knobs = {{2, 7}, {13, 0}}},
          EngineChoice{.version = 91002, .engine = 20, .knobs = {{13, 1}}},
          EngineChoice{.version = 91002, .engine = 20}, EngineChoice{.version = 91002, .engine = 3}}) {
      const DnnConfiguration made = configuration_of(library, graph, choice);
      ASSERT_TRUE(made.good()) << to_text(choice);
      EXPECT_EQ(choice_of(library, made.configuration), choice) << to_text(choice);
    }
  }
  EXPECT_EQ(living, 0);
}

TEST(DnnConfiguration, NumbersThatTheLibraryDoesNotHaveAreNone) {
  const DnnFunctions library = fake_library();
  {
    DnnDescription graph(library, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    graph.finalize();
    for (const EngineChoice& choice :
         {EngineChoice{.engine = 21}, EngineChoice{.engine = -1},
          EngineChoice{.engine = 3, .knobs = {{2, 1}}}, EngineChoice{.engine = 20, .knobs = {{2, 8}}},
          EngineChoice{.engine = 20, .knobs = {{2, 1}, {5, 0}}},
          EngineChoice{.engine = 20, .knobs = {{13, -1}}}}) {
      EXPECT_FALSE(configuration_of(library, graph, choice).good()) << to_text(choice);
    }
    const DnnConfiguration made = configuration_of(library, graph, {.engine = 20, .knobs = {{2, 1}}});
    tells_knobs = false;
    EXPECT_EQ(choice_of(library, made.configuration), std::nullopt);
    tells_knobs = true;
  }
  EXPECT_EQ(living, 0);
}

}  // namespace
}  // namespace tidemark::cuda

#endif
