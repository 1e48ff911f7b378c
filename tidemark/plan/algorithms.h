// Which of a library's algorithms compute the calls of a plan. They decide the last bits of its results, and
// are the device's to choose: a plan is made without any, and whoever has run it on a device can write down
// what was chosen there (PlannedGraph::to_json). A plan that has some is run with these or not at all.
#pragma once
#include <string>
#include <vector>

namespace tidemark {

struct PlannedAlgorithms {
  struct Entry {
    std::string form = {}, algorithm = {};  // texts that the device alone understands
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  std::string machine = {};         // all that their meaning depends on: the kind of device, versions
  std::vector<Entry> entries = {};  // each form once; none: the device chooses

  bool empty() const { return entries.empty(); }
  friend bool operator==(const PlannedAlgorithms&, const PlannedAlgorithms&) = default;
};

}  // namespace tidemark
