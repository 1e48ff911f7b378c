#include "tidemark/cuda/group_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "tidemark/cuda/element_code.h"
#include "tidemark/cuda/group_folds.h"
#include "tidemark/cuda/tiled_group.h"
#include "tidemark/kernel/reduce.h"
#include "tidemark/kernel/reduce_order.h"
#include "tidemark/kernel/walk.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/registry.h"
#include "tidemark/ops/type_rules.h"

namespace tidemark::cuda {
namespace {

constexpr std::int64_t most_blocks = std::int64_t{1} << 20;  // beyond, threads take several turns
constexpr std::int64_t widest_pack = 8;

std::string_view fold_name(Reduction reduction) {
  switch (reduction) {
    case Reduction::max:
      return "max";
    case Reduction::min:
      return "min";
    case Reduction::prod:
      return "prod";
    default:
      return "sum";
  }
}

std::string variable(const GroupRef& place) {
  constexpr char kinds[] = {'a', 'r', 't'};
  return fmt::format("{}{}", kinds[place.kind], place.number);
}

// A step that reads an operand from outside at other elements than it makes: a pad, or a part of one.
struct GroupWindow {
  std::size_t step, operand;
  Shape from;
  Strides strides;
  PadAttrs pad;
};

// Groups in which some operands are the same for all rows: threads go down their columns, so that they read
// those operands once.
constexpr std::int64_t fewest_walked_rows = 64, most_walked_rows = 16, most_across = 32;
struct ColumnWalk {
  std::int64_t rows = 0, columns = 0;  // no rows: elements in their order
  std::int64_t across = 0, tiles = 0, slabs = 0, slab_rows = 0, ahead = 0;

  void cut(std::int64_t width, std::int64_t arrays) {
    const std::int64_t packs = columns / width;
    across =
        std::min(most_across, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(packs))));
    tiles = (packs + across - 1) / across;
    ahead = arrays <= 1 ? 4 : arrays <= 3 ? 2 : 1;
    const std::int64_t down = threads_per_block / across, steps = (rows + down - 1) / down;
    slab_rows = std::clamp(steps * tiles / (2 * busy_blocks), ahead, most_walked_rows) * down;
    slabs = (rows + slab_rows - 1) / slab_rows;
  }
};

struct EndReduction {
  Reduction reduction;
  ReduceOrder order;
  GroupRef in, out;
  DType dtype;
};

class GroupWriter {
 public:
  GroupWriter(std::span<const GroupStep> steps, std::string_view name)
      : steps_(steps), name_(name), shape_(collect(steps)), walk_(shape_, operands_) {
    for (const WalkedOperand& operand : walk_.operands) {
      std::int64_t reach = 0;
      for (int d = 0; d < walk_.shape.rank(); ++d)
        reach += std::abs(operand.strides[d]) * (walk_.shape[d] - 1);
      wide_ |= reach >= most_in_32_bits;
    }
    wide_ |= walk_.count >= most_in_32_bits;
    for (const GroupWindow& window : windows_) {
      std::int64_t reach = 0;
      for (int d = 0; d < shape_.rank(); ++d) {
        reach += std::abs(window.strides[d]) * window.from[d];
        wide_ |= shape_[d] + std::abs(window.pad.low[d]) >= most_in_32_bits;
      }
      wide_ |= reach >= most_in_32_bits;
    }
    if (reduction_) slabs_ = fold_slabs(shape_, reduction_->order);
    find_columns();
    choose_width();
    if (walked_.rows > 0) walked_.cut(width_, dense_operands());
  }

  KernelText write() {
    KernelText kernel{
        .source = fmt::format("#include \"tidemark/cuda/device/{}.h\"\n", reduction_ ? "folds" : "elements"),
        .operands = std::max(1, static_cast<int>(operands_.size())),
        .results = std::max(1, static_cast<int>(results_.size()))};
    line("\nnamespace tidemark::cuda {{\n");
    line("struct {}_group {{", name_);
    line("  using Pointers = GroupPointers<{}, {}>;", kernel.operands, kernel.results);
    line("  using Index = {};", wide_ ? "long long" : "int");
    if (reduction_) write_order();
    write_element();
    if (walked_.rows > 0) write_column_walk();
    if (!reduction_ || slabs_.count > 0) write_alignment();
    write_make();
    line("}};\n");
    if (reduction_) {
      add_folds(kernel);
    } else if (walked_.rows > 0) {
      add_kernel(kernel, name_, "walk_columns", walked_.tiles * walked_.slabs);
    } else {
      const std::int64_t turns = (walk_.count + width_ - 1) / width_;
      add_kernel(kernel, name_, "walk_elements",
                 std::min(most_blocks, (turns + threads_per_block - 1) / threads_per_block));
    }
    line("}}  // namespace tidemark::cuda");
    kernel.source += text_;
    return kernel;
  }

 private:
  struct Result {
    DType dtype = DType::f32;
    bool whole = false;  // of the group's shape; else what the reduction makes
  };

  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }

  // The operands from outside, the results, and the shape that is walked.
  Shape collect(std::span<const GroupStep> steps) {
    TM_CHECK(!steps.empty(), "a group without a step");
    Shape shape;
    for (const GroupStep& step : steps) {
      TM_CHECK(!reduction_, "a group goes on behind its reduction");
      for (std::size_t i = 0; i < step.in.size(); ++i) {
        if (step.in[i].kind != GroupRef::operand) continue;
        const auto number = static_cast<std::size_t>(step.in[i].number);
        operands_.resize(std::max(operands_.size(), number + 1));
        read_.resize(operands_.size());
        if (i == 0 && step.call.op == &op::pad) {
          operands_[number].dtype = step.call.in[0].dtype;
          windows_.push_back({.step = static_cast<std::size_t>(&step - steps.data()),
                              .operand = number,
                              .from = step.call.in[0].shape,
                              .strides = operand_strides(step.call, 0),
                              .pad = step.call.attrs_as<PadAttrs>()});
          continue;
        }
        read_[number] = true;
        operands_[number] = {.dtype = step.call.in[i].dtype,
                             .shape = step.call.in[i].shape,
                             .strides = operand_strides(step.call, static_cast<int>(i))};
      }
      const Type& out = step.call.out[0];
      const std::optional<Reduction> reduction = reduction_of(*step.call.op);
      if (reduction) {
        shape = step.call.in[0].shape;
        reduction_ = EndReduction{.reduction = *reduction,
                                  .order = {shape, step.call.attrs_as<ReduceAttrs>().axes},
                                  .in = step.in[0],
                                  .out = step.out[0],
                                  .dtype = out.dtype};
      } else if (&step == steps.data() || out.count() != 1) {
        shape = out.shape;
      }
      if (step.out[0].kind != GroupRef::result) continue;
      const auto number = static_cast<std::size_t>(step.out[0].number);
      results_.resize(std::max(results_.size(), number + 1));
      results_[number] = {.dtype = out.dtype, .whole = !reduction};
    }
    return shape;
  }

  static bool moves_in_packs(const WalkedOperand& operand, std::int64_t width) {
    if (operand.kind == WalkedOperand::dense) return true;
    if (operand.kind == WalkedOperand::uniform || operand.strides.back() != 1) return false;
    return std::all_of(operand.strides.begin(), operand.strides.end() - 1,
                       [&](std::int64_t stride) { return stride % width == 0; });
  }

  static bool is_same_in_rows(const WalkedOperand& operand) {
    return operand.kind == WalkedOperand::strided && operand.strides[0] == 0 && operand.strides[1] == 1;
  }
  void find_columns() {
    if (reduction_ || !windows_.empty() || walk_.shape.rank() != 2 || walk_.shape[0] < fewest_walked_rows)
      return;
    bool has_row = false;
    for (const WalkedOperand& operand : walk_.operands) {
      if (operand.kind == WalkedOperand::strided && !is_same_in_rows(operand)) return;
      has_row |= operand.kind == WalkedOperand::strided;
    }
    if (has_row) walked_ = {.rows = walk_.shape[0], .columns = walk_.shape[1]};
  }
  bool lies_dense(std::size_t i) const { return walk_.operands[i].kind == WalkedOperand::dense; }
  std::int64_t dense_operands() const {
    std::int64_t found = 0;
    for (std::size_t i = 0; i < operands_.size(); ++i) found += read_[i] && lies_dense(i);
    return found;
  }
  // Is it read once by each thread that goes down its columns?
  bool is_kept(std::size_t i) const { return walked_.rows > 0 && !lies_dense(i); }

  // As many elements at a time as make 16 bytes of the largest; in rows, as many as divide them.
  void choose_width() {
    // Windows are read element by element, which is fastest where neighbouring threads read neighbours.
    if ((reduction_ && slabs_.count == 0) || !windows_.empty()) return;
    std::int64_t largest = 1;
    for (const Result& result : results_) largest = std::max(largest, size_of(result.dtype));
    for (const WalkedOperand& operand : walk_.operands) {
      if (walked_.rows > 0 && operand.kind != WalkedOperand::dense) continue;
      if (moves_in_packs(operand, 1)) largest = std::max(largest, operand.size);
    }
    width_ = std::min(widest_pack, most_pack_bytes / largest);
    while (walk_.shape.rank() > 1 && walk_.inner % width_ != 0) width_ /= 2;
    if (!reduction_) return;
    while (neighbouring_results(shape_, reduction_->order) % width_ != 0) width_ /= 2;
  }

  // One element: the steps in their order, each value as it would be stored.
  void write_element() {
    std::string parameters;
    const auto add = [&](std::string_view type, const std::string& name) {
      fmt::format_to(std::back_inserter(parameters), "{}{} {}", parameters.empty() ? "" : ", ", type, name);
    };
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (read_[i]) add(storage_type(operands_[i].dtype), fmt::format("a{}", i));
    }
    for (std::size_t w = 0; w < windows_.size(); ++w) {
      add("bool", fmt::format("inside{}", w));
      add(storage_type(operands_[windows_[w].operand].dtype), fmt::format("w{}", w));
    }
    for (std::size_t r = 0; r < results_.size(); ++r) {
      if (results_[r].whole)
        add(fmt::format("{}&", storage_type(results_[r].dtype)), fmt::format("out{}", r));
    }
    if (reduction_) add("Element&", "folded");
    line("  static void element({}) {{", parameters);
    std::size_t windows = 0;
    for (const GroupStep& step : steps_) {
      if (reduction_of(*step.call.op)) continue;
      if (step.call.op == &op::pad) {
        line("    const {} {} = inside{} ? w{} : {};", storage_type(step.call.out[0].dtype),
             variable(step.out[0]), windows, windows, variable(step.in[1]));
        ++windows;
        continue;
      }
      std::vector<std::string> operands;
      for (const GroupRef& place : step.in) operands.push_back(variable(place));
      const std::string_view type = storage_type(step.call.out[0].dtype);
      line("    const {} {} = {};", type, variable(step.out[0]), element_code(step.call, operands));
    }
    for (std::size_t r = 0; r < results_.size(); ++r) {
      if (results_[r].whole) line("    out{} = r{};", r, r);
    }
    if (reduction_) line("    folded = {};", variable(reduction_->in));
    line("  }}");
  }

  void write_alignment() {
    line("  static constexpr Index count = {};", walk_.count);
    line("  static constexpr int width = {};", width_);
    line("  static bool aligned(const Pointers& at) {{");
    std::string all = "true";
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (read_[i] && !is_kept(i) && moves_in_packs(walk_.operands[i], width_))
        all += fmt::format(" && is_aligned<width>({})", operand_pointer(i));
    }
    for (std::size_t r = 0; r < results_.size(); ++r) {
      if (results_[r].whole) all += fmt::format(" && is_aligned<width>({})", result_pointer(r));
    }
    line("    return {};\n  }}", all);
  }

  std::string operand_pointer(std::size_t i) const {
    return fmt::format("static_cast<const {}*>(at.in[{}])", storage_type(operands_[i].dtype), i);
  }
  std::string result_pointer(std::size_t r) const {
    return fmt::format("static_cast<{}*>(at.out[{}])", storage_type(results_[r].dtype), r);
  }

  void write_column_walk() {
    line("  static constexpr int across = {}, ahead = {};", walked_.across, walked_.ahead);
    line("  static constexpr Index rows = {}, columns = {}, tiles = {}, slab_rows = {};", walked_.rows,
         walked_.columns, walked_.tiles, walked_.slab_rows);
    line("  template <int n>\n  struct Kept {{");
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (read_[i] && is_kept(i)) declare_operand(i);
    }
    line("  }};\n  template <int n>\n  static void keep(const Pointers& at, Index column, Kept<n>& to) {{");
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (!read_[i] || !is_kept(i)) continue;
      if (is_array(i)) {
        line("    load(to.a{}, {} + column, is_aligned<n>({} + column));", i, operand_pointer(i),
             operand_pointer(i));
      } else {
        line("    to.a{} = {}[0];", i, operand_pointer(i));
      }
    }
    line("  }}");
  }

  // Elements [i, i + n), which lie in one row of the walk if it has rows. Whoever goes down columns reads
  // several rows before it computes the first: the compiler may not move loads over stores, which could be to
  // the same memory.
  void write_make() {
    const bool reads_before = slabs_.count > 0 || walked_.rows > 0;
    if (walked_.rows > 0) {
      write_read();
      line("  template <int n>");
      line(
          "  static void make(const Pointers& at, Index i, bool aligned, const Read<n>& read, const Kept<n>& "
          "kept) {{");
    } else if (slabs_.count > 0) {
      write_read();
      line("  template <int n>");
      line(
          "  static void make(const Pointers& at, Index i, bool aligned, const Read<n>& read, Element "
          "(&folded)[n]) {{");
    } else if (reduction_) {
      line("  static Element make(const Pointers& at, Index i) {{");
      line("    constexpr int n = 1;\n    constexpr bool aligned = false;\n    Element folded;");
    } else {
      line("  template <int n>\n  static void make(const Pointers& at, Index i, bool aligned) {{");
    }
    if (!reads_before) write_coordinates();
    std::string arguments;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (!read_[i]) continue;
      if (!reads_before) declare_operand(i), load_operand(i, "");
      arguments += fmt::format("{}{}a{}{}", arguments.empty() ? "" : ", ",
                               is_kept(i)     ? "kept."
                               : reads_before ? "read."
                                              : "",
                               i, is_array(i) ? "[e]" : "");
    }
    load_windows();
    for (std::size_t w = 0; w < windows_.size(); ++w)
      arguments += fmt::format("{}inside{}[e], w{}[e]", arguments.empty() ? "" : ", ", w, w);
    for (std::size_t r = 0; r < results_.size(); ++r) {
      if (!results_[r].whole) continue;
      line("    {} r{}[n];", storage_type(results_[r].dtype), r);
      arguments += fmt::format("{}r{}[e]", arguments.empty() ? "" : ", ", r);
    }
    const std::string_view folded = slabs_.count > 0 ? "folded[e]" : "folded";
    if (reduction_) arguments += fmt::format("{}{}", arguments.empty() ? "" : ", ", folded);
    line("    for (int e = 0; e < n; ++e) element({});", arguments);
    for (std::size_t r = 0; r < results_.size(); ++r) {
      if (results_[r].whole) line("    store({} + i, r{}, aligned);", result_pointer(r), r);
    }
    if (reduction_ && slabs_.count == 0) line("    return folded;");
    line("  }}");
  }

  // What `make` reads, as a step of its own.
  void write_read() {
    line("  template <int n>\n  struct Read {{");
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (read_[i] && !is_kept(i)) declare_operand(i);
    }
    line(
        "  }};\n  template <int n>\n  static void read(const Pointers& at, Index i, bool aligned, Read<n>& "
        "to) {{");
    if (walked_.rows == 0) write_coordinates();
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (read_[i] && !is_kept(i)) load_operand(i, "to.");
    }
    line("  }}");
  }

  // c0, c1, …: the index along each dimension of the walk.
  void write_coordinates() {
    const bool strided = std::ranges::any_of(
        walk_.operands, [](const WalkedOperand& o) { return o.kind == WalkedOperand::strided; });
    if (!strided) return;
    line("    Index rest = i;");
    for (int d = walk_.shape.rank() - 1; d > 0; --d) {
      line("    const Index c{} = rest % {};\n    rest /= {};", d, walk_.shape[d], walk_.shape[d]);
    }
    line("    const Index c0 = rest;");
  }

  // An operand's variable a0, a1, …: an array of n, or one element where it is the same for all.
  bool is_array(std::size_t i) const {
    const WalkedOperand& operand = walk_.operands[i];
    return operand.kind == WalkedOperand::dense ||
           (operand.kind == WalkedOperand::strided && operand.strides.back() != 0);
  }
  void declare_operand(std::size_t i) {
    line("    {} a{}{};", storage_type(operands_[i].dtype), i, is_array(i) ? "[n]" : "");
  }
  void load_operand(std::size_t i, std::string_view in) {
    const WalkedOperand& operand = walk_.operands[i];
    std::string offset = operand.kind == WalkedOperand::dense ? "i" : "0";
    for (int d = 0; operand.kind == WalkedOperand::strided && d < walk_.shape.rank(); ++d) {
      if (operand.strides[d] != 0)
        offset += fmt::format(" + c{} * static_cast<Index>({})", d, operand.strides[d]);
    }
    if (!is_array(i)) {
      line("    {}a{} = {}[{}];", in, i, operand_pointer(i), offset);
    } else if (moves_in_packs(operand, width_)) {
      line("    load({}a{}, {} + ({}), aligned);", in, i, operand_pointer(i), offset);
    } else {
      line("    for (int e = 0; e < n; ++e) {}a{}[e] = {}[{} + e * static_cast<Index>({})];", in, i,
           operand_pointer(i), offset, operand.strides.back());
    }
  }

  // Into w0, w1, …, and whether there is such an element: element e of a padded operand lies at
  // low + e (interior + 1).
  void load_windows() {
    if (windows_.empty()) return;
    for (std::size_t w = 0; w < windows_.size(); ++w)
      line("    bool inside{}[n];\n    {} w{}[n];", w, storage_type(operands_[windows_[w].operand].dtype), w);
    line("    for (int e = 0; e < n; ++e) {{\n      Index left = i + e;");
    for (int d = shape_.rank() - 1; d > 0; --d)
      line("      const Index g{} = left % {};\n      left /= {};", d, shape_[d], shape_[d]);
    line("      const Index g0 = left;");
    for (std::size_t w = 0; w < windows_.size(); ++w) load_window(w);
    line("    }}");
  }

  void load_window(std::size_t w) {
    const GroupWindow& window = windows_[w];
    const std::string_view type = storage_type(operands_[window.operand].dtype);
    std::string inside = "true", offset = "0";
    line("      {{");
    for (int d = 0; d < shape_.rank(); ++d) {
      const std::int64_t low = window.pad.low[d], step = window.pad.interior[d] + 1;
      line("        const Index p{} = g{} - static_cast<Index>({});", d, d, low);
      std::string at = fmt::format("p{}", d);
      if (low > 0) inside += fmt::format(" && p{} >= 0", d);
      if (step > 1) {
        inside += fmt::format(" && p{} % {} == 0", d, step);
        at = fmt::format("p{} / {}", d, step);
      }
      if (shape_[d] - 1 - low >= window.from[d] * step)
        inside += fmt::format(" && {} < {}", at, window.from[d]);
      if (window.strides[d] != 0)
        offset += fmt::format(" + {} * static_cast<Index>({})", at, window.strides[d]);
    }
    line("        inside{}[e] = {};", w, inside);
    line("        w{}[e] = inside{}[e] ? {}[{}] : {}{{}};", w, w, operand_pointer(window.operand), offset,
         type);
    line("      }}");
  }

  void write_offset(std::string_view name, const JoinedDimensions& dimensions) {
    line("  static Index {}(Index i) {{", name);
    line("    Index at = 0;");
    for (int d = dimensions.rank - 1; d > 0; --d) {
      line("    at += i % {} * {};\n    i /= {};", dimensions.size[d], dimensions.step[d],
           dimensions.size[d]);
    }
    if (dimensions.rank > 0) line("    at += i * {};", dimensions.step[0]);
    line("    return at;\n  }}");
  }

  void write_order() {
    const ReduceOrder& order = reduction_->order;
    const DType dtype = reduction_->dtype;
    line("  using Element = {};", storage_type(dtype == DType::boolean ? DType::u8 : dtype));
    line("  static constexpr Fold fold = Fold::{};", fold_name(reduction_->reduction));
    line("  static constexpr bool mean = {}, shares = {}, columns = {};",
         reduction_->reduction == Reduction::mean && is_float(dtype), order.may_share_chunks(),
         folds_columns(shape_, order));
    line("  static constexpr int result_number = {};", reduction_->out.number);
    line(
        "  static constexpr Index results = {}, outer = {}, inner = {}, chunk_elements = {}, "
        "outer_per_chunk = {},\n                         inner_chunks = {}, chunks = {}, most_outer = {}, "
        "most_inner = {};",
        order.results, order.outer, order.inner, order.chunk_elements, order.outer_per_chunk,
        order.inner_chunks, order.chunks, std::min(order.outer, order.outer_per_chunk),
        std::min(order.inner, order.chunk_elements));
    line("  static constexpr Index slab_rows = {}, parts = {};", slabs_.rows,
         slabs_.count > 0 ? slabs_.count : order.chunks);
    JoinedDimensions kept, outer, inner;
    const Strides strides = dense_strides(shape_);
    for (int d = 0; d < shape_.rank(); ++d) {
      (!order.reduced[d] ? kept : d < order.first_inner ? outer : inner).push(shape_[d], strides[d]);
    }
    write_offset("result_offset", kept);
    write_offset("outer_offset", outer);
    write_offset("inner_offset", inner);
  }

  void add_kernel(KernelText& kernel, const std::string& name, std::string_view body, std::int64_t blocks,
                  bool meets = false) {
    line("{}",
         define_kernel(fmt::to_string(threads_per_block), name, fmt::format("{}_group::Pointers", name_),
                       fmt::format("{}<{}_group>(at);", body, name_)));
    if (blocks > 0)
      kernel.launches.push_back(
          {.kernel = name, .blocks = blocks, .threads = threads_per_block, .meets = meets});
  }

  void add_folds(KernelText& kernel) {
    kernel.scratch_bytes = fold_scratch(shape_, reduction_->order);
    for (const FoldLaunch& launch : fold_launches(shape_, reduction_->order, width_))
      add_kernel(kernel, name_ + launch.suffix, launch.body, launch.blocks, launch.meets);
  }

  std::span<const GroupStep> steps_;
  std::string name_;
  std::vector<TensorRef> operands_;
  std::vector<bool> read_;  // of the operands; a number may be left out
  std::vector<GroupWindow> windows_;
  std::vector<Result> results_;
  std::optional<EndReduction> reduction_;
  Shape shape_;
  Walk walk_;
  bool wide_ = false;  // indices need 64 bits
  FoldSlabs slabs_;
  ColumnWalk walked_;
  std::int64_t width_ = 1;
  std::string text_;
};

}  // namespace

bool is_group_window(const Call& call) {
  return call.op == &op::pad && call.out[0].rank() > 0 && call.out[0].count() > 1;
}

bool can_generate(const Op& op) { return has_element_code(op) || reduction_of(op); }

std::int64_t group_scratch(const Call& last) {
  if (!reduction_of(*last.op)) return 0;
  const Shape& shape = last.in[0].shape;
  return fold_scratch(shape, {shape, last.attrs_as<ReduceAttrs>().axes});
}

KernelText write_group(std::span<const GroupStep> steps, std::string_view name) {
  if (works_in_tiles(steps)) return write_tiled_group(steps, name);
  return GroupWriter(steps, name).write();
}

}  // namespace tidemark::cuda
