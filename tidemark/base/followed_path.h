// Where a path leads whose last name is a symbolic link, for files of people: what they write through a link
// goes to the file behind it, and the link stays.
#pragma once
#include <string>

#include "tidemark/base/result.h"

namespace tidemark {

// The path behind all links, of a file that need not be there; `path` itself where it is no link. Else the
// error number: ELOOP where links lead in a circle, EACCES for a link that another user put into a folder
// which all may write to (as the kernel refuses with protected_symlinks).
Result<std::string, int> followed_path(const std::string& path);

}  // namespace tidemark
