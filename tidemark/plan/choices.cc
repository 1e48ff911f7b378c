#include "tidemark/plan/choices.h"

namespace tidemark {

std::string_view name_of(Choice choice) {
  switch (choice) {
    case Choice::keep:
      return "keep";
    case Choice::recompute:
      return "recompute";
    case Choice::compress:
      return "compress";
    case Choice::host:
      return "host";
    case Choice::disk:
      return "disk";
    case Choice::invert:
      return "invert";
    case Choice::split:
      return "split";
  }
  return "";
}

std::optional<Choice> choice_named(std::string_view name) {
  for (const Choice choice : all_choices) {
    if (name_of(choice) == name) return choice;
  }
  return {};
}

std::string to_string(const Choices& choices) {
  std::string text;
  for (const Choice choice : all_choices) {
    if (choice == Choice::keep || !choices.has(choice)) continue;
    text += text.empty() ? "" : ", ";
    text += name_of(choice);
  }
  return text.empty() ? std::string(name_of(Choice::keep)) : text;
}

}  // namespace tidemark
