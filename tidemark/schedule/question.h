// What every kind does with a question before it plans: is it one, how many states does a level hold, what
// does a plan cost.
#pragma once
#include <string>

#include "tidemark/schedule/plan.h"

namespace tidemark::schedule {

// Slots are numbered by 32 bits.
inline constexpr std::int64_t most_slots = 2'147'483'647;

void check_question(const Question& question);  // throws Error: bad_schedule

// How many states fit level `level`, no more than steps and most_slots.
std::int64_t state_slots(const Question& question, std::size_t level);

// A promise with its lists as long as the levels, the rest to be filled in.
Promise promise_for(const Question& question, Kind kind);

// forward_cost · advances + reverse_cost · steps + writes and reads, of which those behind the steps cost
// nothing.
double cost_of(const Question& question, const Promise& promise);

// `needed`: the least that would fit, as "4 slots" or "3.00 MiB".
[[noreturn]] void does_not_fit(const Question& question, Kind kind, const std::string& needed);
[[noreturn]] void bad_question(std::string what, std::string expected = "", std::string help = "");

}  // namespace tidemark::schedule
