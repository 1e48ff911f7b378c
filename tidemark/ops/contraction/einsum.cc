// einsum as a sequence of pairwise contractions. A term is an operand with one label per dimension; labels
// are the formula's letters, and negative numbers for the dimensions an ellipsis stands for (-1 the last, -2
// the one before).
#include <algorithm>
#include <cctype>
#include <map>
#include <string>

#include "tidemark/base/error.h"
#include "tidemark/ops/contraction/contract.h"
#include "tidemark/ops/movement/movement.h"
#include "tidemark/ops/reduction/reduce.h"
#include "tidemark/ops/scalar/elementwise.h"

namespace tidemark {
namespace {

using Labels = std::vector<int>;

struct Term {
  Var value;
  Labels labels;
};

bool has(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}
int position(const Labels& labels, int label) {
  return static_cast<int>(std::find(labels.begin(), labels.end(), label) - labels.begin());
}

class Formula {
 public:
  Formula(std::string_view text, std::span<const Var> operands, SourceLine where)
      : text_(text), operands_(operands), where_(where) {}

  struct Parsed {
    std::vector<Term> terms;
    Labels output;
  };
  Parsed parse() {
    Parsed parsed;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      parsed.terms.push_back({operands_[i], operand_labels(i)});
      skip_spaces();
      const bool last = i + 1 == operands_.size();
      if (!last && !take(","))
        error(at_, fmt::format("{} operands are given, the formula names {}", operands_.size(), i + 1));
    }
    skip_spaces();
    if (at_ < text_.size() && text_[at_] == ',')
      error(at_, fmt::format("only {} operands are given", operands_.size()));
    if (take("->")) {
      parsed.output = output_labels();
    } else if (at_ == text_.size()) {
      parsed.output = implicit_output();
    }
    skip_spaces();
    if (at_ != text_.size()) error(at_, "this is no part of a formula");
    return parsed;
  }

 private:
  [[noreturn]] void error(std::size_t at, std::string what, ErrorCode code = ErrorCode::bad_attribute) const {
    fail(code, {.what = fmt::format("einsum: {}", what),
                .expected = "a formula such as \"bij,bjk->bik\", one letter per dimension",
                .where = where_,
                .notes = {fmt::format("formula: {}", text_), fmt::format("         {:>{}}", "^", at + 1)}});
  }

  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(std::string_view token) {
    skip_spaces();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }

  Labels operand_labels(std::size_t operand) {
    const Shape& shape = operands_[operand].shape();
    skip_spaces();
    const std::size_t begin = at_;
    std::vector<std::pair<int, std::size_t>> letters;  // and where they stand; an ellipsis is 0
    for (;;) {
      skip_spaces();
      if (at_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[at_]))) {
        letters.emplace_back(text_[at_], at_), ++at_;
      } else if (const std::size_t dots = at_; take("...")) {
        if (std::any_of(letters.begin(), letters.end(), [](const auto& l) { return l.first == 0; })) {
          error(dots, "a second ellipsis in one operand");
        }
        letters.emplace_back(0, dots);
      } else {
        break;
      }
    }
    const bool dotted =
        std::any_of(letters.begin(), letters.end(), [](const auto& l) { return l.first == 0; });
    const int named = static_cast<int>(letters.size()) - (dotted ? 1 : 0);
    if (dotted ? named > shape.rank() : named != shape.rank()) {
      error(begin,
            fmt::format("operand {} has shape {}, the formula gives it {} dimensions", operand,
                        to_string(shape), named),
            ErrorCode::shape_mismatch);
    }
    Labels labels;
    for (const auto& [letter, at] : letters) {
      if (letter == 0) {
        const int dots = shape.rank() - named;
        ellipsis_ = std::max(ellipsis_, dots);
        for (int i = dots; i > 0; --i) add(labels, -i, shape, at);
      } else {
        add(labels, letter, shape, at);
        ++uses_[letter];
      }
    }
    return labels;
  }

  void add(Labels& labels, int label, const Shape& shape, std::size_t at) {
    const std::int64_t size = shape[static_cast<int>(labels.size())];
    const auto [known, is_new] = sizes_.emplace(label, size);
    if (!is_new && label < 0 && known->second == 1) known->second = size;
    if (known->second != size && !(label < 0 && size == 1)) {
      const std::string name = label < 0 ? "the ellipsis" : fmt::format("`{}`", static_cast<char>(label));
      error(at, fmt::format("{} has size {} here and {} before", name, size, known->second),
            ErrorCode::shape_mismatch);
    }
    labels.push_back(label);
  }

  Labels ellipsis_labels() const {
    Labels labels;
    for (int i = ellipsis_; i > 0; --i) labels.push_back(-i);
    return labels;
  }

  Labels output_labels() {
    Labels output;
    for (;;) {
      skip_spaces();
      if (at_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[at_]))) {
        const int label = text_[at_];
        if (!uses_.contains(label)) error(at_, fmt::format("`{}` is in no operand", text_[at_]));
        if (has(output, label)) error(at_, fmt::format("`{}` appears twice in the result", text_[at_]));
        output.push_back(label), ++at_;
      } else if (take("...")) {
        for (int label : ellipsis_labels()) output.push_back(label);
      } else {
        return output;
      }
    }
  }

  // As in NumPy: the ellipsis, then the letters that appear once, in alphabetical order.
  Labels implicit_output() const {
    Labels output = ellipsis_labels();
    for (const auto& [letter, count] : uses_) {
      if (count == 1) output.push_back(letter);
    }
    return output;
  }

  std::string_view text_;
  std::span<const Var> operands_;
  SourceLine where_;
  std::size_t at_ = 0;
  std::map<int, std::int64_t> sizes_;
  std::map<int, int> uses_;
  int ellipsis_ = 0;
};

Term permuted(const Term& term, const Labels& labels) {
  Dims order;
  bool moves = false;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    order.push_back(position(term.labels, labels[i]));
    moves |= order.back() != static_cast<std::int64_t>(i);
  }
  return {moves ? transpose(term.value, order) : term.value, labels};
}

// "ii" becomes "i": with the two dimensions last and flattened, the diagonal is every (n + 1)-th element.
Term without_repeats(Term term) {
  for (std::size_t i = 0; i < term.labels.size(); ++i) {
    for (std::size_t j = i + 1; j < term.labels.size();) {
      if (term.labels[i] != term.labels[j]) {
        ++j;
        continue;
      }
      Dims order;
      for (std::size_t d = 0; d < term.labels.size(); ++d) {
        if (d != i && d != j) order.push_back(static_cast<std::int64_t>(d));
      }
      order.push_back(static_cast<std::int64_t>(i)), order.push_back(static_cast<std::int64_t>(j));
      const int label = term.labels[i];
      term.labels.erase(term.labels.begin() + static_cast<std::ptrdiff_t>(j));
      term.labels.erase(term.labels.begin() + static_cast<std::ptrdiff_t>(i));
      term.labels.push_back(label);
      const Var moved = transpose(term.value, order);
      Shape flat = moved.shape();
      const std::int64_t n = flat.back();
      flat.erase(flat.rank() - 1);
      flat.back() = n * n;
      term.value = slice_axis(reshape(moved, flat), flat.rank() - 1, 0, n * n, n + 1);
      i = 0, j = 1;
    }
  }
  return term;
}

Term summed_to(const Term& term, const Labels& keep) {
  Dims axes;
  Labels left;
  for (std::size_t i = 0; i < term.labels.size(); ++i) {
    if (has(keep, term.labels[i])) {
      left.push_back(term.labels[i]);
    } else {
      axes.push_back(static_cast<std::int64_t>(i));
    }
  }
  return {axes.empty() ? term.value : reduce_sum(term.value, axes), left};
}

// Ellipsis dimensions of size 1 broadcast: they are dropped, and come back only if nothing else supplies
// them.
Term without_unit_ellipsis(Term term) {
  for (std::size_t i = term.labels.size(); i-- > 0;) {
    if (term.labels[i] < 0 && term.value.shape()[static_cast<int>(i)] == 1) {
      term.value = squeeze(term.value, static_cast<int>(i));
      term.labels.erase(term.labels.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return term;
}

// Every label of the result stays; none is summed: an elementwise product with broadcasting.
Term outer_product(const Term& a, const Term& b, const Labels& result) {
  const auto aligned = [&](const Term& term) {
    Labels own;
    Shape shape;
    for (int label : result) {
      if (has(term.labels, label)) {
        own.push_back(label);
        shape.push_back(term.value.shape()[position(term.labels, label)]);
      } else {
        shape.push_back(1);
      }
    }
    return reshape(permuted(term, own).value, shape);
  };
  const Var left = aligned(a), right = aligned(b);
  return {left * right, result};
}

Term multiplied(const Term& left, const Term& right, const Labels& keep, const Labels& wanted) {
  Labels left_keep = keep, right_keep = keep;
  left_keep.insert(left_keep.end(), right.labels.begin(), right.labels.end());
  right_keep.insert(right_keep.end(), left.labels.begin(), left.labels.end());
  const Term a = summed_to(left, left_keep), b = summed_to(right, right_keep);

  ContractAttrs dims;
  Labels batch, a_free, b_free;
  for (int label : a.labels) {
    if (!has(b.labels, label)) {
      a_free.push_back(label);
    } else if (has(keep, label)) {
      batch.push_back(label);
    } else {
      dims.lhs_contract.push_back(position(a.labels, label));
      dims.rhs_contract.push_back(position(b.labels, label));
    }
  }
  for (int label : b.labels) {
    if (!has(a.labels, label)) b_free.push_back(label);
  }
  const auto join = [](Labels x, const Labels& y, const Labels& z) {
    x.insert(x.end(), y.begin(), y.end());
    x.insert(x.end(), z.begin(), z.end());
    return x;
  };
  if (dims.lhs_contract.empty()) {
    const Labels natural = join(batch, a_free, b_free);
    return outer_product(
        a, b,
        std::is_permutation(natural.begin(), natural.end(), wanted.begin(), wanted.end()) ? wanted : natural);
  }
  // Batch dimensions in the order the result wants them, so that it need not be transposed for them.
  std::stable_sort(batch.begin(), batch.end(),
                   [&](int x, int y) { return position(wanted, x) < position(wanted, y); });
  for (int label : batch) {
    dims.lhs_batch.push_back(position(a.labels, label));
    dims.rhs_batch.push_back(position(b.labels, label));
  }
  if (join(batch, b_free, a_free) == wanted && !a_free.empty() && !b_free.empty()) {
    const ContractAttrs swapped{dims.rhs_batch, dims.lhs_batch, dims.rhs_contract, dims.lhs_contract};
    return {contract(b.value, a.value, swapped), join(batch, b_free, a_free)};
  }
  return {contract(a.value, b.value, dims), join(batch, a_free, b_free)};
}

// Multiply-adds of combining two terms: the product of the sizes of all their labels.
double work(const Term& a, const Term& b) {
  double product = 1;
  for (std::size_t i = 0; i < a.labels.size(); ++i)
    product *= static_cast<double>(a.value.shape()[static_cast<int>(i)]);
  for (std::size_t i = 0; i < b.labels.size(); ++i) {
    if (!has(a.labels, b.labels[i])) product *= static_cast<double>(b.value.shape()[static_cast<int>(i)]);
  }
  return product;
}

}  // namespace

Var einsum(std::string_view formula, std::span<const Var> operands) {
  TM_CHECK(!operands.empty(), "einsum without operands");
  auto [terms, output] = Formula(formula, operands, operands[0].builder().where()).parse();
  for (Term& term : terms) {
    term = without_repeats(term);
    if (terms.size() > 1) term = without_unit_ellipsis(term);
  }
  // The cheapest pair first, the earlier one among equals.
  while (terms.size() > 1) {
    std::size_t best_i = 0, best_j = 1;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      for (std::size_t j = i + 1; j < terms.size(); ++j) {
        if (work(terms[i], terms[j]) < work(terms[best_i], terms[best_j])) best_i = i, best_j = j;
      }
    }
    const Term a = terms[best_i], b = terms[best_j];
    terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(best_j));
    terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(best_i));
    Labels keep = output;
    for (const Term& term : terms) keep.insert(keep.end(), term.labels.begin(), term.labels.end());
    terms.insert(terms.begin() + static_cast<std::ptrdiff_t>(best_i), multiplied(a, b, keep, output));
  }
  Term result = summed_to(terms[0], output);
  // Ellipsis dimensions that were 1 everywhere.
  Labels present;
  for (int label : output) {
    if (has(result.labels, label)) present.push_back(label);
  }
  result = permuted(result, present);
  Shape shape;
  for (int label : output)
    shape.push_back(has(present, label) ? result.value.shape()[position(present, label)] : 1);
  return reshape(result.value, shape);
}

}  // namespace tidemark
