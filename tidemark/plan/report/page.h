// The explorer: one HTML file about a plan, or a schedule, that needs nothing else. Its parts are the files
// in page/, which the build puts into the library (cmake/TidemarkPage.cmake); what it shows is the JSON of
// page_data.h.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "tidemark/plan/report/page_data.h"

namespace tidemark {

std::string page_html(const PageContent& content);

// A part of the page as the build found it: "page.css" and its text.
struct PageText {
  std::string_view name, text;
};
std::span<const PageText> page_texts();

}  // namespace tidemark
