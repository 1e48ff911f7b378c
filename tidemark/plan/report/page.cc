#include "tidemark/plan/report/page.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tidemark/base/check.h"

namespace tidemark {
namespace {

std::string_view page_text(std::string_view name) {
  const std::span<const PageText> texts = page_texts();
  const auto found = std::ranges::find(texts, name, &PageText::name);
  TM_CHECK(found != texts.end(), "the build left out {}", name);
  return found->text;
}

// Inside of <script> only "</script" and "<!--" mean something. Without any '<' neither can stand there, and
// in the strings of JSON it may be written as an escape. What is not ASCII is one too, so that no reader has
// to guess at an encoding; bytes that are no UTF-8 become U+FFFD.
std::string script_json(const nlohmann::ordered_json& json) {
  const std::string text =
      json.dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::ordered_json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<' || c == '>' || c == '&') {
      safe += c == '<' ? "\\u003c" : c == '>' ? "\\u003e" : "\\u0026";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

std::string page_html(const PageContent& content) {
  const std::string data = script_json(page_data(content));
  std::string scripts;
  for (const PageText& part : page_texts()) {
    if (part.name.ends_with(".js")) scripts.append(part.text).append("\n");
  }
  std::string html;
  html.reserve(data.size() + (std::size_t{1} << 18));
  std::string_view rest = page_text("page.html");
  const auto up_to = [&](std::string_view mark) {
    const std::size_t at = rest.find(mark);
    TM_CHECK(at != std::string_view::npos, "page.html has no {}", mark);
    html.append(rest.substr(0, at));
    rest.remove_prefix(at + mark.size());
  };
  up_to("/*STYLE*/");
  html.append(page_text("page.css"));
  up_to("/*DATA*/");
  html.append(data);
  up_to("/*SCRIPT*/");
  html.append(scripts);
  html.append(rest);
  return html;
}

}  // namespace tidemark
