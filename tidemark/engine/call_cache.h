// The traced and planned calls of a compiled function, by the types and fixed values of their arguments. They
// take memory of their own (graphs, plans, kernels), so there is a limit in bytes: the calls that were not
// made for longest go first, and are traced and planned again if they come back.
#pragma once
#include <any>
#include <array>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tidemark/engine/captures.h"
#include "tidemark/engine/program.h"

namespace tidemark {

// 192 bits that tell graphs apart.
using GraphHash = std::array<std::uint64_t, 3>;

// One traced call. Several may share a program: traces of the same graph that read other variables.
struct CompiledCall {
  std::shared_ptr<Program> program;
  Captures captures;
  std::any result;            // the result tree, its tensors to be replaced
  GraphHash graph_hash = {};  // as traced
  // Of a function whose budget may change, so that it is planned anew without being traced anew.
  std::string arguments = {};                     // their key
  std::shared_ptr<const Graph> traced = nullptr;  // null: it may not
};

class CallCache {
 public:
  explicit CallCache(std::int64_t limit) : limit_(limit) {}

  // The call for these arguments whose captures hold, which are appended to `inputs`; null: there is none.
  std::shared_ptr<CompiledCall> find(const std::string& key, std::vector<Tensor>& inputs);
  // One traced for these arguments, whatever it was planned for, as `find` does; null: there is none.
  std::shared_ptr<CompiledCall> find_traced(const std::string& arguments, std::vector<Tensor>& inputs) const;
  // A program planned for these arguments and this graph; null: there is none.
  std::shared_ptr<Program> find_program(const std::string& key, const GraphHash& graph_hash) const;
  // Others go until the limit is kept; this one stays.
  void insert(const std::string& key, std::shared_ptr<CompiledCall> call);
  void clear();

  std::vector<std::shared_ptr<const Program>> programs() const;  // each once, the latest first
  std::size_t calls() const { return order_.size(); }
  std::int64_t constant_bytes() const;
  std::int64_t evicted() const { return evicted_; }

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<CompiledCall> call;
  };
  using Position = std::list<Entry>::iterator;
  void drop(Position place);
  std::int64_t bytes() const;

  std::int64_t limit_;
  std::list<Entry> order_;  // the latest first
  std::multimap<std::string, Position> by_key_;
  std::int64_t evicted_ = 0;  // programs that had to go, ever
};

}  // namespace tidemark
