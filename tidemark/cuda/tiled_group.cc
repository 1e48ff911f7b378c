#include "tidemark/cuda/tiled_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "tidemark/cuda/element_code.h"
#include "tidemark/cuda/group_source.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark::cuda {
namespace {

class TiledGroupWriter {
 public:
  TiledGroupWriter(std::span<const GroupStep> steps, std::string_view name, std::optional<bool> stays)
      : steps_(steps),
        name_(name),
        layout_(tile_layout(steps, stays)),
        around_(layout_.around()),
        rank_(layout_.shape.rank()) {
    for (const GroupStep& step : steps) {
      for (std::size_t o = 0; o < step.in.size(); ++o) {
        if (step.in[o].kind == GroupRef::operand) add_operand(step, o);
      }
      if (step.out[0].kind == GroupRef::result) results_ = std::max(results_, step.out[0].number + 1);
    }
    for (int d = 0; d < rank_; ++d) wide_ |= layout_.shape[d] >= most_in_32_bits;
    wide_ |= element_count(layout_.shape) >= most_in_32_bits;
  }

  KernelText write() {
    KernelText kernel{.source = "#include \"tidemark/cuda/device/elements.h\"\n",
                      .operands = std::max(1, operands_),
                      .results = std::max(1, results_)};
    line("\nnamespace tidemark::cuda {{\n");
    line("struct {}_tiles {{", name_);
    line("  using Pointers = GroupPointers<{}, {}>;", kernel.operands, kernel.results);
    line("  using Index = {};", wide_ ? "long long" : "int");
    line("  static void run(const Pointers& at) {{");
    line("    alignas(16) __shared__ unsigned char shared[{}];", layout_.shared_bytes);
    line("    const int thread = static_cast<int>(threadIdx.x);");
    write_tile();
    write_single_elements();
    for (std::size_t a = 0; a < layout_.arrays.size(); ++a) {
      const TileLayout::Array& array = layout_.arrays[a];
      line("    {}* const tile{} = reinterpret_cast<{}*>(shared + {});", storage_type(array.dtype), a,
           storage_type(array.dtype), array.offset);
    }
    if (layout_.stays) write_places();
    for (std::size_t p = 0; p < layout_.phases.size(); ++p) {
      layout_.stays ? write_staying_phase(layout_.phases[p], p == 0) : write_phase(layout_.phases[p], p == 0);
    }
    line("  }}\n}};\n");
    const std::string entry =
        define_kernel(fmt::to_string(layout_.threads), name_, fmt::format("{}_tiles::Pointers", name_),
                      fmt::format("{}_tiles::run(at);", name_));
    if (layout_.tiles() > 0)
      kernel.launches.push_back(
          {.kernel = name_, .blocks = layout_.tiles(), .threads = layout_.threads, .meets = true});
    kernel.source += text_ + entry + "}  // namespace tidemark::cuda\n";
    return kernel;
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  static std::string variable(const GroupRef& ref) {
    constexpr char kinds[] = {'a', 'r', 't'};
    return fmt::format("{}{}", kinds[ref.kind], ref.number);
  }
  // An operand from outside, which is read where it lies.
  struct Load {
    GroupRef ref;
    Type type;
    Strides strides;
  };
  static bool is_one(const Type& type) { return type.count() == 1; }

  void add_operand(const GroupStep& step, std::size_t o) {
    const int number = step.in[o].number;
    operands_ = std::max(operands_, number + 1);
    const Type& type = step.call.in[o];
    const Strides strides = operand_strides(step.call, static_cast<int>(o));
    std::int64_t reach = 0;
    for (int d = 0; d < type.rank(); ++d) reach += std::abs(strides[d]) * type.shape[d];
    wide_ |= reach >= most_in_32_bits;
    if (o > 0 || !is_group_window(step.call)) return;
    const auto pad = step.call.attrs_as<PadAttrs>();
    for (int d = 0; d < type.rank(); ++d) {
      const std::int64_t places = std::abs(pad.low[d]) + type.shape[d] * (pad.interior[d] + 1);
      wide_ |= places >= most_in_32_bits;
    }
  }
  std::string pointer(const GroupRef& ref, DType dtype) const {
    if (ref.kind == GroupRef::result)
      return fmt::format("static_cast<{}*>(at.out[{}])", storage_type(dtype), ref.number);
    return fmt::format("static_cast<const {}*>(at.in[{}])", storage_type(dtype), ref.number);
  }

  // b0, b1, …: where the block's tile begins.
  void write_tile() {
    line("    Index block = static_cast<Index>(blockIdx.x);");
    for (int d = rank_ - 1; d >= 0; --d) {
      const std::int64_t count = (layout_.shape[d] + layout_.tile[d] - 1) / layout_.tile[d];
      line("    const Index b{} = block % {} * {};", d, count, layout_.tile[d]);
      if (d > 0) line("    block /= {};", count);
    }
  }

  // What is the same for all elements.
  void write_single_elements() {
    std::vector<bool> loaded(static_cast<std::size_t>(operands_), false);
    for (const GroupStep& step : steps_) {
      for (std::size_t o = 0; o < step.in.size(); ++o) {
        const GroupRef& ref = step.in[o];
        if (ref.kind != GroupRef::operand || !is_one(step.call.in[o])) continue;
        if (o == 0 && is_group_window(step.call)) continue;
        if (loaded[static_cast<std::size_t>(ref.number)]) continue;
        loaded[static_cast<std::size_t>(ref.number)] = true;
        line("    const {} {} = {}[0];", storage_type(step.call.in[o].dtype), variable(ref),
             pointer(ref, step.call.in[o].dtype));
      }
      if (is_one(step.call.out[0])) write_formula("    ", step);  // which has no memory
    }
  }

  void write_formula(std::string_view indent, const GroupStep& step) {
    std::vector<std::string> operands;
    for (const GroupRef& ref : step.in) operands.push_back(variable(ref));
    line("{}const {} {} = {};", indent, storage_type(step.call.out[0].dtype), variable(step.out[0]),
         element_code(step.call, operands));
  }

  // In which l0, l1, … of a phase are counted.
  const TileLayout::Box& box_of(const TileLayout::Phase& phase) const {
    return layout_.stays ? around_ : phase.box;
  }
  // Where an element of the phase, l0, l1, … of its box, lies in an array, so many elements further.
  std::string place(const TileLayout::Array& array, const TileLayout::Phase& reader,
                    const Dims& shift) const {
    const TileLayout::Box& writer = layout_.phases[static_cast<std::size_t>(array.phase)].box;
    std::string at;
    for (int d = 0; d < rank_; ++d) {
      const std::int64_t more = writer.low[d] - box_of(reader).low[d] + shift[d];
      at = d == 0 ? fmt::format("l0 + {}", more)
                  : fmt::format("({}) * {} + l{} + {}", at,
                                d + 1 == rank_ ? array.row : writer.width(layout_.tile, d), d, more);
    }
    return at;
  }
  Dims no_shift() const { return Dims::filled(rank_, 0); }

  // Is there an element so far from g0, g1, …, given that these are inside?
  std::string is_there(const Dims& shift) const {
    std::string text;
    for (int d = 0; d < rank_; ++d) {
      if (shift[d] == 0) continue;
      if (!text.empty()) text += " && ";
      text += shift[d] < 0 ? fmt::format("g{} >= {}", d, -shift[d])
                           : fmt::format("g{} < {}", d, layout_.shape[d] - shift[d]);
    }
    return text.empty() ? "true" : text;
  }

  // A phase that is one turn reads from outside what it needs before the threads meet, who wait for those
  // values and for each other at the same time.
  void write_phase(const TileLayout::Phase& phase, bool is_first) {
    const std::int64_t runs = phase.box.points(layout_.tile) / layout_.run;
    const bool one_turn = runs <= layout_.threads;
    if (one_turn) {
      line("    {{\n      const int p = thread;");
      write_reads(phase.box, loads_of(phase), fmt::format("p < {}", runs));
    }
    if (!is_first) line("{}__syncthreads();", one_turn ? "      " : "    ");
    if (one_turn) {
      line("      if (p < {}) {{", runs);
    } else {
      line("    for (int p = thread; p < {}; p += {}) {{", runs, layout_.threads);
      write_reads(phase.box, loads_of(phase), "");
      line("      {{");
    }
    for_each_made(phase, [&](const GroupRef& ref, DType dtype, int) {
      line("      {} {}_made[{}];", storage_type(dtype), variable(ref), layout_.run);
    });
    write_work(phase);
    line("      }}\n    }}");
  }

  // What threads that stay know in all phases.
  void write_places() {
    line("    const int p = thread;");
    std::vector<Load> loads;
    for (const TileLayout::Phase& phase : layout_.phases) {
      for (const Load& load : loads_of(phase)) {
        if (std::ranges::count(loads, load.ref, &Load::ref) == 0) loads.push_back(load);
      }
    }
    line("    const bool works = p < {};", around_.points(layout_.tile) / layout_.run);
    write_reads(around_, loads, "works");
    for (const TileLayout::Array& array : layout_.arrays)
      line("      {} {}_made[{}] = {{}};", storage_type(array.dtype), variable(array.of), layout_.run);
  }
  void write_staying_phase(const TileLayout::Phase& phase, bool is_first) {
    if (!is_first) line("    __syncthreads();");
    std::string some = "works";
    for (int d = 0; d < rank_; ++d) {
      const bool along = d == layout_.along;
      add(some, within(phase, d, along ? "first" : fmt::format("l{}", d), along ? layout_.run - 1 : 0));
    }
    line("    if ({}) {{\n      bool here[{}];", some, layout_.run);
    for_each_made(phase, [&](const GroupRef& ref, DType dtype, int array) {
      if (array < 0) line("      {} {}_made[{}];", storage_type(dtype), variable(ref), layout_.run);
    });
    write_work(phase);
    line("    }}");
  }
  // Is a place along d in the phase's box, or so few elements before it?
  std::string within(const TileLayout::Phase& phase, int d, std::string_view place, int before = 0) const {
    const std::int64_t low = around_.low[d] - phase.box.low[d], count = phase.box.width(layout_.tile, d);
    std::string text;
    if (low - before > 0) add(text, fmt::format("{} >= {}", place, low - before));
    if (low + count < around_.width(layout_.tile, d)) add(text, fmt::format("{} < {}", place, low + count));
    return text;
  }

  // l0, l1, …: where the element lies in the box; g0, g1, …: in the array.
  void write_reads(const TileLayout::Box& box, const std::vector<Load>& loads, std::string near) {
    const int along = layout_.along, run = layout_.run;
    line("      int left = p;");
    for (int d = rank_ - 1; d >= 0; --d) {
      const std::int64_t count = box.width(layout_.tile, d) / (d == along ? run : 1);
      const std::string place = d > 0 ? fmt::format("left % {}", count) : "left";
      if (d == along) {
        line("      const int first = {} * {};", d > 0 ? fmt::format("({})", place) : place, run);
      } else {
        line("      const int l{} = {};", d, place);
        line("      const Index g{} = b{} + (l{} - {});", d, d, d, box.low[d]);
        add(near, inside_along(box, d));
      }
      if (d > 0) line("      left /= {};", count);
    }
    line("      const bool near = {};", near.empty() ? "true" : near);
    line("      bool inside[{}];", run);
    for (const Load& load : loads)
      line("      {} {}_read[{}];", storage_type(load.type.dtype), variable(load.ref), run);
    begin_run(box);
    const std::string test = inside_along(box, along);
    line("        inside[e] = near{};", test.empty() ? "" : " && " + test);
    for (const Load& load : loads) write_load(load);
    line("      }}");
  }

  void write_work(const TileLayout::Phase& phase) {
    const TileLayout::Box& box = box_of(phase);
    begin_run(box);
    if (layout_.stays) {
      const std::string test = within(phase, layout_.along, fmt::format("l{}", layout_.along));
      line("        here[e] = {};", test.empty() ? "true" : test);
    }
    for (const Load& load : loads_of(phase))
      line("        const {} {} = {}_read[e];", storage_type(load.type.dtype), variable(load.ref),
           variable(load.ref));
    write_steps(phase);
    for_each_made(phase, [&](const GroupRef& ref, DType, int array) {
      const std::string made = variable(ref);
      if (array < 0) {
        line("        {}_made[e] = {};", made, made);
      } else {
        line("        {}_made[e] = inside[e] ? {} : {};", made, made,
             variable(layout_.arrays[static_cast<std::size_t>(array)].outside));
      }
    });
    line("      }}");
    begin_run(box);
    std::string core;
    for (int d = 0; d < rank_; ++d) {
      if (box.low[d] > 0) add(core, fmt::format("l{} >= {}", d, box.low[d]));
      if (box.high[d] > 0) add(core, fmt::format("l{} < {}", d, box.low[d] + layout_.tile[d]));
    }
    line("        const bool stored = inside[e]{};", core.empty() ? "" : " && " + core);
    for_each_made(phase, [&](const GroupRef& ref, DType dtype, int array) {
      if (array >= 0) {
        const TileLayout::Array& of = layout_.arrays[static_cast<std::size_t>(array)];
        line("        {}tile{}[{}] = {}_made[e];", layout_.stays ? "if (here[e]) " : "", array,
             place(of, phase, no_shift()), variable(ref));
      }
      if (ref.kind == GroupRef::result) write_result(ref, dtype);
    });
    line("      }}");
  }

  static void add(std::string& text, const std::string& test) {
    if (!test.empty()) text += (text.empty() ? "" : " && ") + test;
  }
  std::string inside_along(const TileLayout::Box& box, int d) const {
    std::string text;
    if (box.low[d] > 0) add(text, fmt::format("g{} >= 0", d));
    if (box.high[d] > 0 || layout_.shape[d] % layout_.tile[d] != 0)
      add(text, fmt::format("g{} < {}", d, layout_.shape[d]));
    return text;
  }
  void begin_run(const TileLayout::Box& box) {
    const int along = layout_.along;
    line("#pragma unroll\n      for (int e = 0; e < {}; ++e) {{", layout_.run);
    line("        const int l{} = first + e;", along);
    line("        const Index g{} = b{} + (l{} - {});", along, along, along, box.low[along]);
  }
  // What the phase puts into tiles or stores; its number among the arrays, or -1.
  template <class Visit>
  void for_each_made(const TileLayout::Phase& phase, const Visit& visit) const {
    for (const int a : phase.arrays) {
      const TileLayout::Array& array = layout_.arrays[static_cast<std::size_t>(a)];
      visit(array.of, array.dtype, a);
    }
    for (std::size_t s = 0; s < steps_.size() && phase.results; ++s) {
      const GroupRef& out = steps_[s].out[0];
      if (phase.steps[s] && out.kind == GroupRef::result && !layout_.find(out))
        visit(out, steps_[s].call.out[0].dtype, -1);
    }
  }

  void write_result(const GroupRef& ref, DType dtype) {
    std::string at = "g0";
    for (int d = 1; d < rank_; ++d)
      at = fmt::format("({}) * static_cast<Index>({}) + g{}", at, layout_.shape[d], d);
    line("        if (stored) {}[{}] = {}_made[e];", pointer(ref, dtype), at, variable(ref));
  }

  std::vector<Load> loads_of(const TileLayout::Phase& phase) const {
    std::vector<Load> loads;
    const auto add_load = [&](const GroupStep& step, std::size_t o) {
      if (std::ranges::count(loads, step.in[o], &Load::ref) > 0) return;
      loads.push_back({step.in[o], step.call.in[o], operand_strides(step.call, static_cast<int>(o))});
    };
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      const GroupStep& step = steps_[s];
      const bool window = is_group_window(step.call);
      for (std::size_t o = 0; o < step.in.size(); ++o) {
        if (step.in[o].kind != GroupRef::operand) continue;
        const TileLayout::Array* const array = layout_.find(step.in[o]);
        if (array) {  // what windows read is put into a tile
          if (window && o == 0 && layout_.reads_tile(step) && is_of(*array, phase)) add_load(step, o);
        } else if (phase.steps[s] && !is_one(step.call.in[o]) && !(window && o == 0)) {
          add_load(step, o);
        }
      }
    }
    return loads;
  }
  bool is_of(const TileLayout::Array& array, const TileLayout::Phase& phase) const {
    return &layout_.phases[static_cast<std::size_t>(array.phase)] == &phase;
  }
  // The operand's element at g0, g1, …, as NumPy broadcasts it.
  void write_load(const Load& load) {
    std::string at = "0";
    const int rank = load.type.rank();
    for (int d = 0; d < rank; ++d) {
      if (load.type.shape[d] != 1 && load.strides[d] != 0)
        at += fmt::format(" + g{} * static_cast<Index>({})", d + rank_ - rank, load.strides[d]);
    }
    const std::string_view type = storage_type(load.type.dtype);
    line("        {}_read[e] = inside[e] ? {}[{}] : {}{{}};", variable(load.ref),
         pointer(load.ref, load.type.dtype), at, type);
  }

  // The element of an array at the place of this one, or so many further. Threads that stay have some of them
  // themselves, and read no others where they are idle.
  std::string element(const TileLayout::Array& array, const TileLayout::Phase& phase,
                      const Dims& shift) const {
    const std::string there =
        fmt::format("tile{}[{}]", &array - layout_.arrays.data(), place(array, phase, shift));
    if (!layout_.stays) return there;
    const std::string read = fmt::format("here[e] ? {} : {}{{}}", there, storage_type(array.dtype));
    const std::int64_t further = shift[layout_.along], run = layout_.run;
    Dims only_along = no_shift();
    only_along[layout_.along] = further;
    if (shift != only_along || std::abs(further) >= run) return read;
    const std::string own = fmt::format("{}_made[(e + {}) & {}]", variable(array.of), further, run - 1);
    if (further == 0) return own;
    return fmt::format("e + {0} >= 0 && e + {0} < {1} ? {2} : {3}", further, run, own, read);
  }

  void write_steps(const TileLayout::Phase& phase) {
    std::vector<GroupRef> known;  // of what lies in tiles
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      if (!phase.steps[s]) continue;
      const GroupStep& step = steps_[s];
      const bool window = is_group_window(step.call);
      for (std::size_t o = window ? 1 : 0; o < step.in.size(); ++o) {
        const TileLayout::Array* const array = layout_.find(step.in[o]);
        if (!array || is_of(*array, phase) || std::ranges::count(known, step.in[o]) > 0) continue;
        known.push_back(step.in[o]);
        line("        const {} {} = {};", storage_type(array->dtype), variable(step.in[o]),
             element(*array, phase, no_shift()));
      }
      if (window) {
        write_window(phase, step);
      } else {
        write_formula("        ", step);
      }
    }
  }

  void write_window(const TileLayout::Phase& phase, const GroupStep& step) {
    const std::string_view type = storage_type(step.call.out[0].dtype);
    const std::string out = variable(step.out[0]), else_ = variable(step.in[1]);
    if (layout_.reads_tile(step)) {
      const TileLayout::Array& array = *layout_.find(step.in[0]);
      const Dims shift = *window_shift(step.call);
      const std::string there = element(array, phase, shift);
      if (array.outside == step.in[1]) {
        line("        const {} {} = {};", type, out, there);
      } else {
        line("        const {} {} = {} ? ({}) : {};", type, out, is_there(shift), there, else_);
      }
      return;
    }
    // From where it lies: element e of the operand is at low + e (interior + 1).
    const auto pad = step.call.attrs_as<PadAttrs>();
    const Shape& from = step.call.in[0].shape;
    const Strides strides = operand_strides(step.call, 0);
    std::string inside = "inside[e]", at = "0";
    for (int d = 0; d < rank_; ++d) {
      const std::int64_t gap = pad.interior[d] + 1;
      const std::string place = fmt::format("(g{} - static_cast<Index>({}))", d, pad.low[d]);
      inside += fmt::format(" && {} >= 0 && {} < static_cast<Index>({})", place, place, from[d] * gap);
      if (gap > 1) inside += fmt::format(" && {} % {} == 0", place, gap);
      at += fmt::format(" + {} / {} * static_cast<Index>({})", place, gap, strides[d]);
    }
    line("        const {} {} = {} ? {}[{}] : {};", type, out, inside,
         pointer(step.in[0], step.call.in[0].dtype), at, else_);
  }

  std::span<const GroupStep> steps_;
  std::string name_;
  TileLayout layout_;
  TileLayout::Box around_;
  int rank_;
  int operands_ = 0, results_ = 0;
  bool wide_ = false;  // indices need 64 bits
  std::string text_;
};

}  // namespace

KernelText write_tiled_group(std::span<const GroupStep> steps, std::string_view name,
                             std::optional<bool> stays) {
  return TiledGroupWriter(steps, name, stays).write();
}

}  // namespace tidemark::cuda
