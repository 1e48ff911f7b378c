// What `tidemark schedule` prints: the figures of a plan, and the verdict on a list of actions.
#pragma once
#include "tidemark/schedule/plan.h"
#include "tidemark/schedule/verify.h"

namespace tidemark::cli {

void print_promise(const schedule::Question& question, const schedule::Promise& promise, bool in_bytes);
void print_promise_json(const schedule::Question& question, const schedule::Promise& promise, bool in_bytes,
                        double seconds);
void print_verdict(const schedule::Verdict& verdict);
void print_verdict_json(const schedule::Verdict& verdict);

}  // namespace tidemark::cli
