#include "tidemark/schedule/staircase.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

namespace tidemark::schedule {
namespace {

constexpr std::int64_t most_followed = 200'000'000;  // actions
constexpr std::int64_t most_single = 20'000;         // actions that come one by one
constexpr std::int64_t moments = 4'000;              // stretches of a longer one
constexpr std::int64_t rows = 1'000;                 // stretches of steps in which stored states are one

// What is stored of a row of steps, on one level, as states or as records.
struct StoredRow {
  std::int64_t count = 0, since = 0;
  Step step = 0;
};

class StaircaseColumns {
 public:
  StaircaseColumns(Step steps, std::int64_t actions)
      : steps_(steps), stretch_(actions <= most_single ? 1 : (actions + moments - 1) / moments) {}

  void apply(const Action& action) {
    const Step before = state_;
    switch (action.kind) {
      case ActionKind::advance:
        state_ = action.to;
        break;
      case ActionKind::record:
        state_ = action.step + 1;
        if (action.level != working) begin_stored(action, true);
        break;
      case ActionKind::reverse:
        reversed_ = std::min(reversed_, action.step);
        break;
      case ActionKind::store:
        begin_stored(action, false);
        break;
      case ActionKind::load:
        state_ = action.step;
        break;
      case ActionKind::drop:
        end_stored(action);
        break;
    }
    if (now_ % stretch_ == 0) {
      at.push_back(now_);
      kind.push_back(static_cast<int>(action.kind));
      from.push_back(before);
      to.push_back(state_);
      reversed.push_back(reversed_);
    }
    if (stretch_ > 1) {
      from.back() = std::min({from.back(), before, state_});
      to.back() = std::max({to.back(), before, state_});
      reversed.back() = reversed_;
    }
    ++now_;
  }

  // Of a schedule that was not followed to its end.
  void finish() {
    for (auto& [key, row] : stored_) {
      if (row.count > 0) add_stored(key.level, key.record, row);
    }
  }

  bool exact() const { return stretch_ == 1; }
  std::vector<std::int64_t> at, kind, from, to, reversed;
  std::vector<std::int64_t> stored_step, stored_level, stored_record, stored_from, stored_to;

 private:
  struct Key {
    std::int64_t row = 0;
    std::int16_t level = 0;
    bool record = false;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  Key key_of(const Action& action, bool record) const {
    const auto row =
        static_cast<std::int64_t>(static_cast<__int128>(action.step) *
                                  std::min(rows, std::max<Step>(1, steps_)) / std::max<Step>(1, steps_));
    return {exact() ? action.step : row, action.level, record};
  }
  void begin_stored(const Action& action, bool record) {
    records_[{action.level, action.slot}] = record;
    StoredRow& row = stored_[key_of(action, record)];
    if (row.count++ == 0) row.since = now_, row.step = action.step;
  }
  void end_stored(const Action& action) {
    const bool record = records_[{action.level, action.slot}];
    StoredRow& row = stored_[key_of(action, record)];
    if (--row.count == 0) add_stored(action.level, record, row);
  }
  void add_stored(std::int16_t level, bool record, const StoredRow& row) {
    if (now_ + 1 - row.since < stretch_ / 4) return;  // shorter than can be seen
    stored_step.push_back(row.step);
    stored_level.push_back(level);
    stored_record.push_back(record);
    stored_from.push_back(row.since);
    stored_to.push_back(now_ + 1);
  }

  const Step steps_;
  const std::int64_t stretch_;  // actions in a moment
  std::int64_t now_ = 0;
  Step state_ = 0, reversed_ = steps_;
  std::map<Key, StoredRow> stored_;
  std::map<std::pair<std::int16_t, std::int32_t>, bool> records_;
};

template <class Each>
std::int64_t follow(const Schedule& schedule, const Each& each) {
  std::array<Action, 1024> batch;
  const auto actions = schedule.actions();
  std::int64_t total = 0;
  for (std::size_t n; total < most_followed && (n = actions->fill(batch)) > 0;) {
    for (std::size_t i = 0; i < n && total < most_followed; ++i, ++total) each(batch[i]);
  }
  return total;
}

}  // namespace

std::string staircase_json(const Schedule& schedule, const StaircaseHead& head) {
  using Json = nlohmann::ordered_json;
  const Promise& promise = schedule.promise();
  const std::int64_t actions = follow(schedule, [](const Action&) {});
  StaircaseColumns columns(promise.steps, actions);
  follow(schedule, [&](const Action& action) { columns.apply(action); });
  columns.finish();
  Json figures = Json::array();
  for (const auto& [name, text] : head.figures) figures.push_back({name, text});
  const Json json = {{"title", head.title},
                     {"where", short_form(head.where)},
                     {"kind", name_of(promise.kind)},
                     {"steps", promise.steps},
                     {"total_forward", promise.total_forward()},
                     {"peak_slots", promise.peak_slots},
                     {"figures", std::move(figures)},
                     {"actions", actions},
                     {"whole", actions < most_followed},
                     {"exact", columns.exact()},
                     {"at", columns.at},
                     {"action", columns.kind},
                     {"from", columns.from},
                     {"to", columns.to},
                     {"reversed", columns.reversed},
                     {"stored",
                      {{"step", columns.stored_step},
                       {"level", columns.stored_level},
                       {"record", columns.stored_record},
                       {"from", columns.stored_from},
                       {"to", columns.stored_to}}}};
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace tidemark::schedule
