// The explanation of a plan as a page of text.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tidemark/plan/report/explain.h"

namespace tidemark {
namespace {

std::string bytes(std::int64_t n) { return to_string(Bytes(n)); }
std::string signed_bytes(std::int64_t n) {
  if (n == 0) return "as it is";
  return fmt::format("{}{}", n < 0 ? "-" : "+", to_string(Bytes(std::abs(n))));
}
std::string time(double seconds) {
  const double size = std::abs(seconds);
  if (size >= 1) return fmt::format("{:.2f} s", seconds);
  if (size >= 1e-3) return fmt::format("{:.2f} ms", 1e3 * seconds);
  return fmt::format("{:.1f} us", 1e6 * seconds);
}
std::string signed_time(double seconds) {
  if (std::abs(seconds) < 5e-11) return "as it is";
  return (seconds < 0 ? "-" : "+") + time(std::abs(seconds));
}

// What an alternative is called beside "kept".
std::string_view if_it_were(Decision decision) {
  switch (decision) {
    case Decision::recomputed:
      return "if recomputed";
    case Decision::kept:
      return "if kept";
    case Decision::host:
      return "if on the host";
    case Decision::disk:
      return "if on the disk";
    default:
      return name_of(decision);
  }
}

// Lines of columns, each as wide as its widest entry; the last is not filled up.
class Table {
 public:
  static constexpr std::size_t columns = 7;
  using Row = std::array<std::string, columns>;
  void add(Row row) {
    for (std::size_t c = 0; c < columns; ++c) width_[c] = std::max(width_[c], length(row[c]));
    rows_.push_back(std::move(row));
  }
  void add_line(std::string text) {  // by itself
    lines_.emplace_back(rows_.size(), std::move(text));
  }
  std::string text() const {
    std::string text;
    std::size_t next = 0;
    for (std::size_t r = 0; r <= rows_.size(); ++r) {
      for (; next < lines_.size() && lines_[next].first == r; ++next) text += lines_[next].second + "\n";
      if (r == rows_.size()) break;
      std::string line;
      for (std::size_t c = 0; c < columns; ++c) {
        const std::string gap(width_[c] - length(rows_[r][c]), ' ');
        const bool right = c == 0 || c == 4 || c == 5;  // figures
        if (c > 0) line += "  ";
        line += right ? gap + rows_[r][c] : rows_[r][c] + gap;
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
    }
    return text;
  }

 private:
  // In characters, not bytes.
  static std::size_t length(const std::string& text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
  }
  std::vector<Row> rows_;
  std::vector<std::pair<std::size_t, std::string>> lines_;  // in front of which row
  std::array<std::size_t, columns> width_ = {};
};

// At most so many bytes, characters whole. What would break a line or command the terminal becomes '?'.
std::string shortened(std::string text, std::size_t most) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  if (text.size() <= most) return text;
  std::size_t begin = text.size() - most + 3;
  while (begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) ++begin;
  return "..." + text.substr(begin);
}

std::string label(const ExplainedValue& value) {
  constexpr std::size_t most = 36;
  const std::string name = !value.name.empty() ? value.name : value.producer ? value.producer->op : "";
  return fmt::format("%{} {}", value.value, shortened(name, most));
}
std::string where(const ExplainedValue& value) { return value.producer ? value.producer->where : ""; }

// What the decision takes.
std::string cost(const ExplainedValue& value) {
  if (value.decision == Decision::compressed) return bytes(value.waiting_bytes);
  return value.cost_seconds > 0 ? time(value.cost_seconds) : "";
}

// The ops that read it, each once, up to three.
std::string readers(const ExplainedValue& value, bool backward) {
  std::vector<std::string_view> ops;
  for (const ExplainedCall& call : value.consumers) {
    if (call.backward == backward && std::ranges::count(ops, call.op) == 0) ops.push_back(call.op);
  }
  constexpr std::size_t most = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, ops.size()); ++i)
    text += fmt::format("{}{}", i > 0 ? ", " : "", ops[i]);
  if (ops.size() > most) text += fmt::format(" and {} more", ops.size() - most);
  return text;
}

std::string remarks(const ExplainedValue& value) {
  std::string text(name_of(value.decision));
  const auto is_other = [&](const std::optional<Decision>& there) {
    return there && *there != value.decision;
  };
  if (const std::string later = readers(value, true); value.crosses && !later.empty()) {
    text += " for " + later;
  } else if (const std::string any = readers(value, false); !any.empty() && !value.alternatives.empty()) {
    text += " for " + any;
  }
  if (value.alternatives.empty() && !value.why.empty()) text += ": " + value.why;
  if (value.at_peak && !value.alternatives.empty()) text += "; at the peak";
  if (is_other(value.with_less)) text += fmt::format("; {} with less memory", name_of(*value.with_less));
  if (is_other(value.with_more)) text += fmt::format("; {} with more", name_of(*value.with_more));
  return text;
}

Table::Row row_of(const Alternative& other) {
  const bool has_plan = other.basis == Basis::edited || other.basis == Basis::planned;
  Table::Row row{"", "   " + std::string(if_it_were(other.decision)), "", "", "", "", other.why};
  if (has_plan) row[4] = signed_bytes(other.peak_change);
  if (other.basis != Basis::none) row[5] = signed_time(other.seconds_change);
  if (other.basis == Basis::estimate) row[4] = "?";
  return row;
}

std::string head_text(const Explanation& explanation) {
  const ExplainedHead& head = explanation.head;
  std::string text;
  const auto line = [&](std::string_view name, const std::string& what) {
    text += fmt::format("{:<18}{}\n", name, what);
  };
  if (head.budget) {
    line("budget", fmt::format("{}, {} of it free", bytes(*head.budget), bytes(*head.budget - head.peak)));
  } else {
    line("budget", "none: the least memory at no extra time");
  }
  line("peak", fmt::format("{} planned; at least {} in this order, {} in any", bytes(head.peak),
                           bytes(head.lower_bound), bytes(head.order_free_bound)));
  if (head.smallest) line("smallest budget", fmt::format("{}, with little effort", bytes(*head.smallest)));
  if (head.budget && head.free_peak) line("without a budget", bytes(*head.free_peak));
  line("time", fmt::format("{} predicted, {:+.2f}% for want of memory; at least {:+.2f}%", time(head.seconds),
                           100 * head.extra_time(),
                           head.least_seconds > 0 ? 100 * (head.seconds_bound / head.least_seconds - 1) : 0));
  for (const BudgetPrice& price : explanation.prices) {
    const bool less = price.change < 0;
    const std::string name = fmt::format("{} {}", bytes(std::abs(price.change)), less ? "less" : "more");
    if (!price.fits) {
      line(name, "no plan was found for that");
      continue;
    }
    const std::string change = std::abs(price.seconds_change) < 5e-11 ? "changes no time"
                               : price.seconds_change > 0             ? "costs " + time(price.seconds_change)
                                                          : "saves " + time(-price.seconds_change);
    line(name, fmt::format("{}; {} of the values below would change", change,
                           price.changed == 0 ? "none" : std::to_string(price.changed)));
  }
  std::vector<PeakRole> roles;
  for (int r = 0; r < peak_role_count; ++r) {
    if (head.holds.bytes[static_cast<std::size_t>(r)] > 0) roles.push_back(static_cast<PeakRole>(r));
  }
  std::ranges::stable_sort(roles, std::greater(), [&](PeakRole role) { return head.holds.of(role); });
  std::string_view name = "peak holds";
  for (const PeakRole role : roles) {
    const std::int64_t part = head.holds.of(role);
    if (part * 1000 < head.peak) continue;
    line(name, fmt::format("{:>12}  {:>5.1f}%  {}", bytes(part),
                           100 * static_cast<double>(part) / static_cast<double>(head.peak), label_of(role)));
    name = "";
  }
  line("plan hash", head.plan_hash);
  return text;
}

std::string hints_text(const std::vector<HintReport>& hints) {
  if (hints.empty()) return "";
  const auto idle = std::ranges::count(hints, false, &HintReport::honoured);
  std::string text =
      fmt::format("\n{} hint{}, {} without effect\n", hints.size(), hints.size() == 1 ? "" : "s", idle);
  for (const HintReport& hint : hints) {
    const std::string what =
        hint.honoured ? fmt::format("{}, {} steps of {}", bytes(hint.bytes), hint.runs, time(hint.seconds))
                      : "no effect: " + hint.reason;
    text += fmt::format("  {:<11}{}{}{}\n", name_of(hint.kind), hint.name.empty() ? "" : hint.name + " ",
                        hint.where.known() ? fmt::format("({}) ", short_form(hint.where)) : "", what);
  }
  return text;
}

// What the figures of the alternatives are.
std::string legend(const Explanation& explanation) {
  const auto has = [&](Basis basis) {
    return std::ranges::any_of(explanation.values, [&](const ExplainedValue& value) {
      return std::ranges::count(value.alternatives, basis, &Alternative::basis) > 0;
    });
  };
  std::string text;
  if (has(Basis::edited))
    text +=
        "\"if\" lines: this plan with that one change, all else as it is; the peak is exact, the time "
        "predicted.\n";
  if (has(Basis::planned))
    text +=
        "\"if\" lines: the best plan found in the same budget with that fixed; the peak is exact, the time "
        "predicted.\n";
  if (has(Basis::estimate))
    text +=
        "A peak of ? stands for an estimate: runs and copies one by one, as if nothing ran beside them, "
        "without a plan.\n";
  return text.empty() ? text : "\n" + text;
}

}  // namespace

std::string to_text(const Explanation& explanation) {
  std::string text = head_text(explanation);
  if (explanation.values.empty()) return text + "\nno value is asked for\n" + hints_text(explanation.hints);
  Table table;
  table.add({"bytes", "value", "made at", "type", "peak", "time", ""});
  int region = 0;
  for (const ExplainedValue& value : explanation.values) {
    if (value.region != region) {
      region = value.region;
      table.add_line("");
      table.add_line("in the " + explanation.regions[static_cast<std::size_t>(region)].name +
                     ", each time it runs");
    }
    table.add({bytes(value.bytes), label(value), where(value), value.type, "", cost(value), remarks(value)});
    for (const Alternative& other : value.alternatives) table.add(row_of(other));
  }
  const std::size_t shown = explanation.values.size();
  text += fmt::format("\n{}\n", explanation.left_out == 0
                                    ? fmt::format("{} values", shown)
                                    : fmt::format("the {} largest values of {}; --top N shows N", shown,
                                                  shown + explanation.left_out));
  text += table.text();
  return text + legend(explanation) + hints_text(explanation.hints);
}

}  // namespace tidemark
