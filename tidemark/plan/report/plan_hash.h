// A name for what a plan decides: which steps run in which order and groups, on which buffers, where those
// lie and from when to when, likewise in the bodies of loops and branches. Figures and predictions have no
// part in it. The same graph, options and machine data give the same name on every machine, whatever its
// instruction set, its C library or the number of threads, unless effort is a time; plans of the same name
// may be taken to be the same plan. The same graph is one with its nodes in the same order: of C++ that makes
// two nodes in the arguments of one call, compilers trace different graphs.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "tidemark/plan/plan.h"

namespace tidemark {

std::uint64_t plan_hash(const Plan& plan);
std::uint64_t plan_hash(std::span<const int> schedule);  // of a Dag: the nodes in the order of their runs

// As it stands in files and summaries: 16 hexadecimal digits.
std::string hash_text(std::uint64_t hash);

}  // namespace tidemark
