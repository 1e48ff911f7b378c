// How single ops compute all examples of a batch at once: a row per op in rules.cc, most of them by the rule
// of a family. Elementwise ops need no row.
#pragma once
#include "tidemark/autodiff/vmap/mapped.h"

namespace tidemark {

// At least one operand is mapped. Gives the results; none where it does not know how to do this call: what
// the op is written in may be mapped then, or the examples taken one by one.
using VmapRule = std::vector<MappedVar> (*)(const VmapCall&);

// nullptr: there is none.
VmapRule vmap_rule(const Op& op);

namespace vmap_rule_of {

std::vector<MappedVar> elementwise(const VmapCall& call);
// Ops that leave dimensions in front alone: the examples are one more of them.
std::vector<MappedVar> leading(const VmapCall& call);
// Ops along an axis, of operands of one rank.
std::vector<MappedVar> along_axis(const VmapCall& call);
std::vector<MappedVar> reduction(const VmapCall& call);

std::vector<MappedVar> broadcast(const VmapCall& call);
std::vector<MappedVar> reshape(const VmapCall& call);
std::vector<MappedVar> transpose(const VmapCall& call);
std::vector<MappedVar> slice(const VmapCall& call);
std::vector<MappedVar> pad(const VmapCall& call);
std::vector<MappedVar> flip(const VmapCall& call);
std::vector<MappedVar> update_slice(const VmapCall& call);

std::vector<MappedVar> take(const VmapCall& call);
std::vector<MappedVar> take_add(const VmapCall& call);

std::vector<MappedVar> contract(const VmapCall& call);
std::vector<MappedVar> conv(const VmapCall& call);
std::vector<MappedVar> conv_weight_grad(const VmapCall& call);
// Ops that take the elements along the first dimension one by one.
std::vector<MappedVar> batches(const VmapCall& call);
std::vector<MappedVar> attention(const VmapCall& call);
std::vector<MappedVar> trailing_norm(const VmapCall& call);
std::vector<MappedVar> group_norm(const VmapCall& call);
std::vector<MappedVar> batch_norm(const VmapCall& call);

std::vector<MappedVar> loop(const VmapCall& call);
std::vector<MappedVar> loop_reverse(const VmapCall& call);
std::vector<MappedVar> while_loop(const VmapCall& call);
std::vector<MappedVar> cond(const VmapCall& call);
std::vector<MappedVar> custom_vjp_call(const VmapCall& call);

}  // namespace vmap_rule_of
}  // namespace tidemark
