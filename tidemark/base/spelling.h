// Names that were probably meant: for "did you mean".
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace tidemark {

// How many letters must be added, left out or changed, or neighbours swapped, to get from one to the other.
std::size_t edit_distance(std::string_view a, std::string_view b);

// Of these names the one that is closest; the first of several. "" where none is within two edits, or one for
// names of up to three letters: that is no typo.
std::string nearest_name(std::string_view name, std::span<const std::string_view> names);

}  // namespace tidemark
