// What may become of a value that must wait, other than staying where it is.
//
//   td::compile(step, {.memory = 2_GiB, .disk = {{"/scratch", 20_GiB}},
//                      .allow = {td::Choice::recompute, td::Choice::disk}});
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace tidemark {

enum class Choice : std::uint8_t {
  keep,       // it stays in memory: always allowed, named where nothing else is to be
  recompute,  // it is computed again; a loop's steps too
  compress,   // it waits in a smaller form: an exact one, or where an error is allowed a lossy one
  host,       // it waits in the host's memory, of a function that runs on a device
  disk,       // it waits on a disk, in an exact form that may be smaller
  invert,     // it is computed back from what was made of it, exactly
  split,      // the batch is computed in micro-batches
};
inline constexpr std::array all_choices = {Choice::keep, Choice::recompute, Choice::compress, Choice::host,
                                           Choice::disk, Choice::invert,    Choice::split};
std::string_view name_of(Choice choice);
std::optional<Choice> choice_named(std::string_view name);

// Some of them; or, where none were named, all that the other options ask for.
class Choices {
 public:
  constexpr Choices() = default;
  constexpr Choices(std::initializer_list<Choice> named) : named_(true), bits_(bit(Choice::keep)) {
    for (const Choice choice : named) bits_ |= bit(choice);
  }

  constexpr bool named() const { return named_; }
  constexpr bool has(Choice choice) const { return (bits_ & bit(choice)) != 0; }
  constexpr Choices with(Choice choice) const {
    Choices more = *this;
    more.bits_ |= bit(choice);
    return more;
  }
  // Then only what is left is allowed.
  constexpr Choices without(Choice choice) const {
    Choices fewer = *this;
    fewer.bits_ &= ~bit(choice);
    fewer.named_ = true;
    return fewer;
  }
  friend constexpr bool operator==(const Choices&, const Choices&) = default;

 private:
  static constexpr unsigned bit(Choice choice) { return 1u << static_cast<unsigned>(choice); }

  bool named_ = false;
  unsigned bits_ = ~0u;
};

std::string to_string(const Choices& choices);  // "recompute, disk"; "keep" where nothing else is named

}  // namespace tidemark
