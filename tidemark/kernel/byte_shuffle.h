// The bytes of elements sorted by their place in the element: the first bytes of all, then the second bytes
// of all, and so on. Numbers that lie beside each other often agree in their signs and exponents and hardly
// in their last bits; sorted so, what agrees lies together, and what compresses can find it (Alted, Blosc).
#pragma once
#include <cstddef>
#include <span>

namespace tidemark {

// `width`: bytes of an element, 1, 2, 4 or 8. Bytes behind the last whole element stay where they are.
// Neither overlaps the other.
void shuffle_bytes(std::size_t width, std::span<const std::byte> elements, std::byte* planes);
void unshuffle_bytes(std::size_t width, std::span<const std::byte> planes, std::byte* elements);

}  // namespace tidemark
