// Operations for tests of the text form and of graph passes: every kind of attribute, several results, no
// result, regions. They have types but no kernels.
#pragma once
#include <string_view>

#include "tidemark/base/error.h"
#include "tidemark/ir/builder.h"
#include "tidemark/ir/parse.h"

namespace tidemark::toy {

struct EveryKind {
  bool flag = false;
  std::int64_t count = 7;
  double scale = 1.0;
  std::string label = {};
  DType dtype = DType::f32;
  Dims dims = {};
  IntList list = {};
  TM_FIELDS(EveryKind, flag, count, scale, label, dtype, dims, list)
};
struct LiteralAttrs {
  Literal value = {};
  TM_FIELDS(LiteralAttrs, value)
};

inline void require_operands(const Call& call, std::size_t count) {
  if (call.in.size() == count) return;
  fail(ErrorCode::wrong_operand_count,
       {.what = fmt::format("{} got {} operands", call.op->name, call.in.size()), .where = call.where});
}
inline std::vector<Type> same_as_first(const Call& call) {
  if (call.in.empty()) require_operands(call, 1);
  for (const Type& type : call.in) {
    if (type != call.in[0]) {
      fail(ErrorCode::shape_mismatch, {.what = fmt::format("{}: {} and {} differ", call.op->name,
                                                           to_string(call.in[0]), to_string(type)),
                                       .where = call.where});
    }
  }
  return {call.in[0]};
}

inline const Op literal{.name = "literal",
                        .kind = OpKind::movement,
                        .schema = &schema_of<LiteralAttrs>,
                        .infer = [](const Call& call) {
                          require_operands(call, 0);
                          const Literal value = call.attrs_as<LiteralAttrs>().value;
                          return std::vector<Type>{{value.dtype, value.shape}};
                        }};
inline const Op blend{
    .name = "blend", .kind = OpKind::elementwise, .schema = &schema_of<EveryKind>, .infer = same_as_first};
inline const Op two{.name = "two", .kind = OpKind::elementwise, .results = 2, .infer = [](const Call& call) {
                      require_operands(call, 1);
                      return std::vector<Type>{call.in[0], {DType::boolean, call.in[0].shape}};
                    }};
inline const Op emit{.name = "emit",
                     .kind = OpKind::opaque,
                     .effect = {.domain = "io"},
                     .results = 0,
                     .infer = [](const Call& call) {
                       require_operands(call, 1);
                       return std::vector<Type>{};
                     }};
// An effect in another domain that may happen again, and one without which nothing may run again.
inline const Op share{.name = "share",
                      .kind = OpKind::opaque,
                      .effect = {.domain = "wire", .on_replay = OnReplay::repeat},
                      .infer = same_as_first};
inline const Op hold{.name = "hold",
                     .kind = OpKind::opaque,
                     .effect = {.domain = "io", .on_replay = OnReplay::refuse},
                     .results = 0,
                     .infer = [](const Call& call) {
                       require_operands(call, 1);
                       return std::vector<Type>{};
                     }};
inline const Op unrepeatable{
    .name = "unrepeatable", .kind = OpKind::random, .replay = Replay::never, .infer = same_as_first};
inline const Op loop{
    .name = "toy_loop", .kind = OpKind::control, .results = -1, .infer = [](const Call& call) {
      std::vector<Type> types;
      for (const Graph& region : call.regions) {
        for (ValueId v : region.outputs()) types.push_back(region.type(v));
      }
      return types;
    }};
inline const Op odd_name{.name = "odd name!", .kind = OpKind::elementwise, .infer = same_as_first};

inline const Op* find(std::string_view name) {
  for (const Op* op : {&literal, &blend, &two, &emit, &share, &hold, &unrepeatable, &loop, &odd_name}) {
    if (op->name == name) return op;
  }
  return nullptr;
}
inline constexpr OpLookup lookup{.find = find, .nearest = [](std::string_view name) {
                                   return std::string(name == "blent" ? "blend" : "");
                                 }};

}  // namespace tidemark::toy
