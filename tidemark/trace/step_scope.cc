#include "tidemark/trace/step_scope.h"

namespace tidemark::detail {
namespace {

thread_local int open_steps = 0;

}  // namespace

StepScope::StepScope() { ++open_steps; }
StepScope::~StepScope() { --open_steps; }
bool StepScope::is_open() { return open_steps > 0; }

}  // namespace tidemark::detail
