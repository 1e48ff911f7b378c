# Writes the parts of the explorer page (tidemark/plan/report/page.h) into a source file of the build. Scripts follow each
# other in the page as they do here: what a part uses while it is read stands before it.
function(tm_page_texts out)
  set(files page.html page.css format.js model.js time_index.js state.js axis.js colours.js dom.js memory_view.js address_view.js
      lane_view.js transfer_arrows.js details.js live_table.js decisions.js decision_table.js frontier_view.js graph_view.js staircase_view.js compare_view.js reality_view.js main.js)
  set(folder "${PROJECT_SOURCE_DIR}/tidemark/plan/report/page")
  set(text "// Written by cmake/TidemarkPage.cmake.\n#include \"tidemark/plan/report/page.h\"\n
namespace tidemark {\n\nstd::span<const PageText> page_texts() {\n  static constexpr PageText texts[] = {\n")
  set(paths "")
  foreach(file IN LISTS files)
    list(APPEND paths "${folder}/${file}")
    file(READ "${folder}/${file}" content)
    string(APPEND text "{\"${file}\", R\"tidemark-page(${content})tidemark-page\"},\n")
  endforeach()
  string(APPEND text "  };\n  return texts;\n}\n\n}  // namespace tidemark\n")
  set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${paths})
  set(path "${PROJECT_BINARY_DIR}/generated/page_texts.cc")
  file(WRITE "${path}.new" "${text}")
  configure_file("${path}.new" "${path}" COPYONLY)  # which touches it only where it differs
  set(${out} "${path}" PARENT_SCOPE)
endfunction()
