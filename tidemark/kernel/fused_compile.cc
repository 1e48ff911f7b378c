// From steps to instructions: which operands need loading, where 16-bit values are widened and rounded, which
// register each tile lies in.
#include <algorithm>
#include <map>

#include "tidemark/kernel/fused.h"
#include "tidemark/kernel/fused_limits.h"
#include "tidemark/kernel/fused_segments.h"

namespace tidemark {

class FusedCompiler {
 public:
  FusedCompiler(FusedProgram& program, std::span<const TensorRef> operands)
      : program_(program), walk_(program.walk_), refs_(operands) {}

  void compile() {
    for (const FusedStep& step : program_.steps_) add(step);
    program_.each_.insert(program_.each_.begin(), loads_.begin(), loads_.end());
    int reduced = -1;
    if (program_.reduction_) {
      reduced = read(program_.reduction_->in, false);
      Value& value = values_[static_cast<std::size_t>(reduced)];
      TM_CHECK(!value.lasting && value.where != Value::in_operand, "a group that only reduces");
      value.kept = true;
      program_.reduced_size_ = value.size;
    }
    const std::vector<FoundSegment> segments = segments_of_code();
    find_brief(segments);
    assign_registers();
    replace_by_code(segments);
    if (reduced >= 0) program_.reduced_ = slot(values_[static_cast<std::size_t>(reduced)].slot);
    choose_tile();
    choose_task();
  }

 private:
  using Instruction = FusedProgram::Instruction;
  enum class Form : std::uint8_t { stored, wide };  // 16-bit floats: as they are, or f32
  struct Value {
    enum Where : std::uint8_t { in_register, in_operand, in_result } where = in_register;
    std::int64_t size = 4;     // bytes of an element
    int number = 0;            // of the operand or result
    bool lasting = false;      // made once for a task, or kept from tile to tile
    bool kept = false;         // to the end of the tile
    bool brief = false;        // made and read in machine code alone
    DType dtype = DType::f32;  // of the tile
    int last_use = -1;         // index into each_
    int slot = -1;
  };
  struct Register {
    std::int64_t size;  // bytes of an element
    bool brief, lasting;
  };
  using Key = std::pair<std::pair<int, int>, Form>;

  static Key key_of(const GroupRef& place, Form form) {
    return {{static_cast<int>(place.kind), place.number}, form};
  }
  static bool is_narrow(DType dtype) { return compute_dtype(dtype) != dtype; }

  int new_value(const Value& value) {
    values_.push_back(value);
    return static_cast<int>(values_.size()) - 1;
  }
  // Appends to what runs once for a task or for each tile. Slots hold values until registers are assigned.
  void emit(const Instruction& instruction, bool once) {
    const bool loads = instruction.kind == Instruction::load || instruction.kind == Instruction::repeat;
    (once ? program_.once_ : loads ? loads_ : program_.each_).push_back(instruction);
  }
  static FusedProgram::Slot slot(int value) { return static_cast<FusedProgram::Slot>(value); }

  // An operand as tiles read it: its memory, or a register that it is loaded into.
  int operand_value(int number, Form form) {
    const auto k = static_cast<std::size_t>(number);
    const WalkedOperand& operand = walk_.operands[k];
    const DType dtype = refs_[k].dtype;
    const bool direct = operand.kind == WalkedOperand::dense || operand.direct_in_rows;
    if (direct && form == Form::stored)
      return new_value({.where = Value::in_operand, .size = operand.size, .number = number, .dtype = dtype});
    const bool once = operand.kind == WalkedOperand::uniform, rows = operand.uniform_in_rows;
    const int value = new_value({.size = form == Form::wide ? 4 : operand.size,
                                 .lasting = once || rows,
                                 .dtype = form == Form::wide ? DType::f32 : dtype});
    emit({.kind = rows ? Instruction::repeat : Instruction::load,
          .from_storage = tile_load(dtype, form == Form::wide),
          .out = slot(value),
          .number = number},
         once);
    return value;
  }

  int read(const GroupRef& place, bool wide) {
    const Form form = wide ? Form::wide : Form::stored;
    if (const auto found = known_.find(key_of(place, form)); found != known_.end()) return found->second;
    int value = -1;
    if (place.kind == GroupRef::operand) {
      value = operand_value(place.number, form);
    } else {
      const auto found = known_.find(key_of(place, Form::stored));
      TM_CHECK(wide && found != known_.end(), "a step of a group reads what no step before it made");
      const Value& stored = values_[static_cast<std::size_t>(found->second)];
      const bool once = stored.lasting;
      const DType dtype = dtypes_.at({static_cast<int>(place.kind), place.number});
      const int from = found->second;
      value = new_value({.size = 4, .lasting = once});
      emit({.kind = Instruction::widen,
            .from_storage = tile_load(dtype, true),
            .in = {slot(from)},
            .out = slot(value),
            .in_count = 1},
           once);
    }
    known_[key_of(place, form)] = value;
    return value;
  }

  DType dtype_of(const GroupRef& place) const {
    return place.kind == GroupRef::operand ? refs_[static_cast<std::size_t>(place.number)].dtype
                                           : dtypes_.at({static_cast<int>(place.kind), place.number});
  }

  void add(const FusedStep& step) {
    const bool once = element_count(step.shape) == 1 && walk_.count != 1;
    const bool computes = step.code.staging == Staging::compute;
    TM_CHECK(once ? step.out.kind == GroupRef::temporary : element_count(step.shape) == walk_.count,
             "a group over {} has a step of {}", walk_.count, to_string(step.shape));
    TM_CHECK(step.code.tile != nullptr && step.in.size() <= max_tile_operands);
    Instruction instruction{.op = step.code.op,
                            .run = step.code.tile,
                            .attributes = step.code.attributes.get(),
                            .in_count = static_cast<int>(step.in.size())};
    for (std::size_t k = 0; k < step.in.size(); ++k) {
      const int value = read(step.in[k], computes && is_narrow(dtype_of(step.in[k])));
      TM_CHECK(!once || values_[static_cast<std::size_t>(value)].lasting, "one element from many");
      instruction.in[k] = slot(value);
    }
    dtypes_[{static_cast<int>(step.out.kind), step.out.number}] = step.dtype;
    const bool in_memory = step.out.kind == GroupRef::result;
    const int stored = new_value({.where = in_memory ? Value::in_result : Value::in_register,
                                  .size = size_of(step.dtype),
                                  .number = step.out.number,
                                  .lasting = once,
                                  .dtype = step.dtype});
    known_[key_of(step.out, Form::stored)] = stored;
    if (computes && is_narrow(step.dtype)) {
      const int wide = new_value({.size = 4, .lasting = once});
      instruction.out = slot(wide);
      emit(instruction, once);
      emit({.kind = Instruction::narrow,
            .to_storage = tile_store(step.dtype),
            .in = {slot(wide)},
            .out = slot(stored),
            .in_count = 1},
           once);
    } else {
      instruction.out = slot(stored);
      emit(instruction, once);
    }
  }

  std::vector<FoundSegment> segments_of_code() const {
    std::vector<SegmentStep> steps;
    std::vector<SegmentValue> values;
    for (const Instruction& i : program_.each_) {
      const bool is_tile = i.kind == Instruction::tile;
      steps.push_back({.op = is_tile ? i.op : TileOp::other,
                       .in = std::vector<int>(i.in.begin(), i.in.begin() + i.in_count),
                       .out = i.out});
    }
    for (const Value& value : values_) {
      values.push_back({.dtype = value.dtype,
                        .invariant = value.lasting,
                        .kept = value.kept || value.where == Value::in_result});
    }
    return find_segments(steps, values);
  }

  void find_brief(const std::vector<FoundSegment>& segments) {
    for (const FoundSegment& segment : segments) {
      for (std::size_t i = segment.begin; i < segment.end; ++i) values_[program_.each_[i].out].brief = true;
      for (int v : segment.places) values_[static_cast<std::size_t>(v)].brief = false;
    }
  }

  // The instructions of a segment stay with it, for what remains of a tile after the last whole round.
  void replace_by_code(const std::vector<FoundSegment>& segments) {
    std::vector<Instruction>& each = program_.each_;
    for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment) {
      FusedProgram::Code code{.machine = segment->code, .places = {}, .rest = {}};
      for (int v : segment->places) code.places.push_back(slot(values_[static_cast<std::size_t>(v)].slot));
      const auto begin = each.begin() + static_cast<std::ptrdiff_t>(segment->begin);
      const auto end = each.begin() + static_cast<std::ptrdiff_t>(segment->end);
      code.rest.assign(begin, end);
      *begin = {.kind = Instruction::code, .number = static_cast<int>(program_.codes_.size())};
      each.erase(begin + 1, end);
      program_.codes_.push_back(std::move(code));
    }
  }

  int take_register(const Value& value) {
    std::vector<int>& free = free_[{value.size, value.brief}];
    if (!free.empty()) {
      const int found = free.back();
      free.pop_back();
      return found;
    }
    registers_.push_back({value.size, value.brief, value.lasting});
    return static_cast<int>(registers_.size()) - 1;
  }
  void free_register(const Value& value) { free_[{value.size, value.brief}].push_back(value.slot); }

  // From one element to the next, in bytes.
  static std::int64_t width(const Value& value) { return value.lasting || value.brief ? 0 : value.size; }

  // A value that is no register gets its slot when the number of registers is known.
  void assign_registers() {
    std::vector<Instruction>& each = program_.each_;
    for (std::size_t i = 0; i < each.size(); ++i) {
      for (int k = 0; k < each[i].in_count; ++k)
        values_[each[i].in[static_cast<std::size_t>(k)]].last_use = static_cast<int>(i);
    }
    for (Value& value : values_) {
      if (value.where == Value::in_register && value.lasting) value.slot = take_register(value);
    }
    for (std::size_t i = 0; i < each.size(); ++i) {
      // A register whose last reader this is may take the result: tiles may write where they read elements as
      // large.
      for (int k = 0; k < each[i].in_count; ++k) {
        Value& value = values_[each[i].in[static_cast<std::size_t>(k)]];
        if (value.where != Value::in_register || value.lasting || value.kept ||
            value.last_use != static_cast<int>(i))
          continue;
        value.last_use = -2;  // the same operand twice is freed once
        free_register(value);
      }
      Value& out = values_[each[i].out];
      if (out.where != Value::in_register || out.lasting) continue;
      out.slot = take_register(out);
      if (out.last_use == -1 && !out.kept) free_register(out);
    }
    place_memory();
    for (std::vector<Instruction>* list : {&program_.once_, &each}) {
      for (Instruction& instruction : *list) {
        for (int k = 0; k < instruction.in_count; ++k) {
          FusedProgram::Slot& in = instruction.in[static_cast<std::size_t>(k)];
          instruction.in_width[static_cast<std::size_t>(k)] = static_cast<std::uint8_t>(width(values_[in]));
          in = slot(values_[in].slot);
        }
        instruction.width = width(values_[instruction.out]);
        instruction.out = slot(values_[instruction.out].slot);
      }
    }
  }

  void place_memory() {
    int next = static_cast<int>(registers_.size());
    for (Value& value : values_) {
      if (value.where == Value::in_register) continue;
      value.slot = next++;
      const FusedProgram::Direct direct{slot(value.slot), value.number, value.size};
      if (value.where == Value::in_result) {
        program_.results_.push_back(direct);
      } else if (walk_.operands[static_cast<std::size_t>(value.number)].kind == WalkedOperand::dense) {
        program_.operands_.push_back(direct);
      } else {
        program_.row_operands_.push_back(direct);
      }
    }
    TM_CHECK(next <= fused::most_slots, "a group with {} operands, results and temporaries", next);
  }

  // Registers that only machine code uses are short: it wants one vector of what does not change, and tiles
  // for the few elements after its last vector. With no other ones it runs through a whole task at once.
  void choose_tile() {
    const bool all_code = std::ranges::all_of(program_.each_, [](const Instruction& i) {
      return i.kind == Instruction::code || i.kind == Instruction::repeat;
    });
    std::int64_t bytes = 0, short_bytes = 0;  // of an element in all registers
    for (Register& r : registers_) {
      r.brief = r.brief || (r.lasting && all_code);
      (r.brief ? short_bytes : bytes) += r.size;
    }
    const std::int64_t room = fused::frame_bytes - short_bytes * fused::tile_unit;
    std::int64_t tile = fused::long_task_elements;
    if (program_.each_.size() > 1 && !(all_code && bytes == 0)) tile = fused::long_tile;
    if (bytes > 0) tile = std::min(fused::long_tile, room / bytes / fused::tile_unit * fused::tile_unit);
    TM_CHECK(room >= 0 && tile > 0, "a group with {} bytes of temporaries per element", bytes + short_bytes);
    program_.tile_ = tile;
    program_.filled_ = all_code ? fused::tile_unit : tile;
    std::int64_t offset = 0;
    for (const Register& r : registers_) {
      program_.registers_.push_back(offset);
      offset += r.size * (r.brief ? fused::tile_unit : tile);
    }
  }

  void choose_task() {
    const auto functions = std::ranges::count_if(program_.each_, [](const Instruction& i) {
      return i.kind == Instruction::tile && i.op == TileOp::other;
    });
    const std::int64_t task = fused::task_elements / (1 + fused::function_cost * functions);
    program_.task_ = std::max(fused::least_task_elements, task / fused::tile_unit * fused::tile_unit);
  }

  FusedProgram& program_;
  const Walk& walk_;
  std::span<const TensorRef> refs_;
  std::vector<Value> values_;
  std::vector<Instruction> loads_;  // before everything else in a tile: what follows can be in one piece
  std::map<Key, int> known_;
  std::map<std::pair<int, int>, DType> dtypes_;
  std::map<std::pair<std::int64_t, bool>, std::vector<int>> free_;  // registers by size and brevity
  std::vector<Register> registers_;
};

FusedProgram::FusedProgram(const Shape& shape, std::span<const TensorRef> operands,
                           std::vector<FusedStep> steps, const std::optional<FusedReduction>& reduction)
    : shape_(shape), walk_(shape, operands), steps_(std::move(steps)), reduction_(reduction) {
  FusedCompiler(*this, operands).compile();
}

}  // namespace tidemark
