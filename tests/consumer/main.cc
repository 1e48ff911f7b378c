// Needs compiled code of the library, not only its headers; ends with 0 when the archive gave the right answer.
#include <tidemark/base/bytes.h>

#include <cstdio>
#include <string>

int main() {
  using namespace tidemark::literals;
  const std::string text = tidemark::to_string(tidemark::parse_bytes("1.5 GiB") + 512_MiB);
  std::printf("%s\n", text.c_str());
  return text == "2.00 GiB" ? 0 : 1;
}
