// Any text is either a clean Error or merges that are written as they were read, and decode what they encode.
#include <string>

#include "tests/fuzz/fuzz_entry.h"
#include "tidemark/base/check.h"
#include "tidemark/base/error.h"
#include "tidemark/data/tokenizer.h"

extern "C" int merges_fuzz(const std::uint8_t* bytes, std::size_t size) {
  using namespace tidemark;
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  try {
    const data::BpeTokenizer bpe = data::BpeTokenizer::from_text(text, "fuzz");
    TM_CHECK(bpe.to_text() == text);
    TM_CHECK(bpe.decode(bpe.encode(text)) == text);
  } catch (const Error& error) {
    TM_CHECK(error.code() == ErrorCode::bad_data_file, "{}", error.what());
  }
  const data::BpeTokenizer learnt = data::BpeTokenizer::train(text, {.vocabulary = 280});
  TM_CHECK(learnt.decode(learnt.encode(text)) == text);
  return 0;
}
