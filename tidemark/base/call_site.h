// The line on which a user called something of ours that is made of many operations: a layer, a loss, a
// model. While one is alive, errors made on this thread name that line instead of the line of ours on which
// an operation stands, and so do nodes that can fail when the program runs. Reports keep the lines of ours,
// which tell the parts of a model apart.
#pragma once
#include "tidemark/base/source.h"

namespace tidemark {

class CallSite {
 public:
  // Of several that are alive the first counts: models are made of layers, and the user called the model.
  explicit CallSite(const SourceLine& where);
  ~CallSite();
  CallSite(const CallSite&) = delete;
  CallSite& operator=(const CallSite&) = delete;

  static const SourceLine& current();  // unknown: none is alive on this thread

 private:
  bool first_;
};

}  // namespace tidemark
