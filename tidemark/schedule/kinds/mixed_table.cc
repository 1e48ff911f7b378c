#include "tidemark/schedule/kinds/mixed_table.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "tidemark/base/check.h"
#include "tidemark/schedule/kinds/least_sum.h"

namespace tidemark::schedule {
namespace {

// Rows times steps, counted more where there are many steps: a few seconds.
constexpr double most_work = 2e7;
constexpr std::int64_t most_units = 1 << 20;
constexpr double many_entries = 1 << 18;  // of the table: some milliseconds

}  // namespace

MixedTable::MixedTable(Step steps, std::int64_t state_bytes, std::int64_t record_bytes, std::int64_t bytes)
    : steps_(steps), state_(state_bytes), record_(record_bytes), units_(bytes) {
  TM_CHECK(steps > 1 && steps <= most_mixed_steps);
  // Room for every record is all there is to use.
  if (record_ <= units_ / (steps - 1)) units_ = record_ * (steps - 1);
  state_ = std::min(state_, units_ + 1), record_ = std::min(record_, units_ + 1);
  coarsen();
  if (!too_large_ && feasible()) {
    // C(n, one state) is the most any row holds.
    if (static_cast<double>(steps) * static_cast<double>(steps) < 2e8) {
      fill<std::int32_t>();
    } else {
      fill<double>();
    }
  }
}

void MixedTable::coarsen() {
  const std::int64_t divisor = std::gcd(state_, record_);
  state_ /= divisor, record_ /= divisor, units_ /= divisor;
  const double steps = static_cast<double>(steps_);
  if (units_ > most_units || static_cast<double>(amounts().size()) * steps > many_entries) coarsen_evenly();
  const double most_rows = most_work / (steps * (1 + steps / 20'000));
  while (units_ > most_units || static_cast<double>(amounts().size()) > most_rows) {
    too_large_ = std::min(state_, record_) < 32;
    if (too_large_) return;
    state_ = (state_ + 1) / 2, record_ = (record_ + 1) / 2, units_ /= 2;
  }
}

void MixedTable::coarsen_evenly() {
  for (std::int64_t parts = 1; parts <= 32; ++parts)
    for (const std::int64_t size : {record_, state_}) {
      const std::int64_t unit = (size + parts - 1) / parts;
      const auto rounded = [&](std::int64_t bytes) { return (bytes + unit - 1) / unit; };
      const auto wastes = [&](std::int64_t bytes) { return rounded(bytes) * unit - bytes > bytes / 256; };
      if (wastes(state_) || wastes(record_)) continue;
      state_ = rounded(state_), record_ = rounded(record_), units_ /= unit;
      return;
    }
}

std::vector<std::int64_t> MixedTable::amounts() const {
  std::vector<bool> possible(static_cast<std::size_t>(units_) + 1);
  possible.back() = true;
  std::vector<std::int64_t> amounts;
  for (std::int64_t left = units_; left >= 0; --left) {
    if (!possible[static_cast<std::size_t>(left)]) continue;
    amounts.push_back(left);
    if (left >= state_) possible[static_cast<std::size_t>(left - state_)] = true;
    if (left >= record_) possible[static_cast<std::size_t>(left - record_)] = true;
  }
  std::reverse(amounts.begin(), amounts.end());
  return amounts;
}

bool MixedTable::feasible() const { return units_ >= state_ || units_ / record_ >= steps_ - 1; }

template <class Value>
void MixedTable::fill() {
  const std::vector<std::int64_t> amounts = this->amounts();
  const auto count = static_cast<std::size_t>(steps_);
  row_of_.assign(static_cast<std::size_t>(units_) + 1, -1);
  for (std::size_t row = 0; row < amounts.size(); ++row)
    row_of_[static_cast<std::size_t>(amounts[row])] = static_cast<std::int64_t>(row);
  choices_.assign(amounts.size() * count, -1);
  // C by row, at count − n, and of the row at work i + C(i), at i − 1: sums run over both upwards.
  std::vector<Value> values(amounts.size() * count, infinite<Value>()), own(count);
  std::vector<Value> slopes;
  for (int repeats = 1; slopes.size() < 24; repeats += 1 + repeats / 8)
    slopes.push_back(static_cast<Value>(repeats));
  LeastSum<Value> least(own.data(), count, slopes);
  for (std::size_t row = 0; row < amounts.size(); ++row) {
    const auto row_left = [&](std::int64_t taken) -> const Value* {
      if (amounts[row] < taken) return nullptr;
      return values.data() +
             static_cast<std::size_t>(row_of_[static_cast<std::size_t>(amounts[row] - taken)]) * count;
    };
    const Value* const after_state = row_left(state_);
    const Value* const after_record = row_left(record_);
    Value* const value = values.data() + row * count;
    std::int32_t* const choices = choices_.data() + row * count;
    if (after_state != nullptr) least.start_known(after_state);
    for (std::size_t l = 0; l < count; ++l) {
      Value best = l == 0 ? Value{1} : infinite<Value>();
      std::int32_t choice = l == 0 ? 0 : -1;
      if (l > 0 && after_record != nullptr && after_record[count - l] < infinite<Value>())
        best = after_record[count - l] + 1, choice = 0;
      if (l > 0 && after_state != nullptr && best > static_cast<Value>(l + 1)) {
        const auto found = least.find(l, best);
        if (found.index >= 0) best = found.sum, choice = static_cast<std::int32_t>(found.index) + 1;
      }
      value[count - 1 - l] = best;
      choices[l] = choice;
      own[l] = best + static_cast<Value>(l + 1);
      if (after_state != nullptr) least.append_left(l);
    }
  }
}

Step MixedTable::choice(std::int64_t units, Step length) const {
  const std::int64_t row = row_of_[static_cast<std::size_t>(units)];
  const std::int32_t choice = choices_[static_cast<std::size_t>(row * steps_ + length - 1)];
  TM_CHECK(choice >= 0);
  return choice;
}

}  // namespace tidemark::schedule
