// The functions of trace/, autodiff/ and engine/ under the sweep of odd arguments.
#include <gmock/gmock.h>

#include "tests/support/errors.h"
#include "tests/support/sweep.h"

namespace tidemark {
namespace {

using namespace testing;
using ::testing::HasSubstr;

class BadArguments : public Sweep {
 protected:
  BadArguments() : Sweep(std::source_location::current()) {}
};

using I = std::int64_t;

TEST_F(BadArguments, NegativeSizesAreRefusedByEveryFactory) {
  const std::vector<std::pair<std::string, std::function<void(I)>>> factories = {
      {"zeros", [](I n) { zeros({n}); }},
      {"zeros twice",
       [](I n) {
         zeros({n, n});
       }},
      {"ones",
       [](I n) {
         ones({2, n});
       }},
      {"full",
       [](I n) {
         full({n, 0}, 3);
       }},
      {"arange", [](I n) { arange(n); }},
      {"linspace", [](I n) { linspace(0, 1, n); }},
      {"eye", [](I n) { eye(n); }},
      {"tensor",
       [](I n) {
         tensor(std::vector<float>{1}, {n, n});
       }},
      {"broadcast", [](I n) { broadcast(scalar(1), {n}); }},
      {"one_hot", [](I n) { one_hot(arange(3), n); }},
      {"random_uniform", [](I n) { random_uniform(key(1), {n}); }},
      {"random_normal",
       [](I n) {
         random_normal(key(1), {n, 2});
       }},
      {"random_bernoulli", [](I n) { random_bernoulli(key(1), {n}, 0.5); }},
      {"random_bits", [](I n) { random_bits(key(1), {n}); }},
      {"random_permutation", [](I n) { random_permutation(key(1), n); }},
      {"split_key", [](I n) { split_key(key(1), n); }}};
  for (const auto& [name, make] : factories) {
    for (I n : {I{-1}, I{-2}, -huge, lowest})
      refuses(name + " " + std::to_string(n), ErrorCode::bad_attribute, [&, make = make] { make(n); });
  }
}

TEST_F(BadArguments, SizesBeyondTheMachineAreOutOfMemoryAndStateTheBytes) {
  const std::vector<std::pair<std::string, std::function<void(I)>>> factories = {
      {"zeros", [](I n) { zeros({n}); }},
      {"ones",
       [](I n) {
         ones({n, n});
       }},
      {"full of nothing",
       [](I n) {
         full({n, n, 0}, 3);
       }},
      {"arange", [](I n) { arange(n); }},
      {"linspace", [](I n) { linspace(0, 1, n); }},
      {"eye", [](I n) { eye(n); }},
      {"broadcast", [](I n) { broadcast(scalar(1), {n}); }},
      {"one_hot", [](I n) { one_hot(arange(3), n); }},
      {"random_uniform", [](I n) { random_uniform(key(1), {n}); }},
      {"random_bits",
       [](I n) {
         random_bits(key(1), {n, n});
       }},
      {"random_permutation", [](I n) { random_permutation(key(1), n); }},
      {"concat",
       [](I n) {
         const Tensor z = zeros({n, 0});
         concat({z, z}, 1);
         broadcast(scalar(1), {n, n});
       }},
      {"matmul", [](I n) {
         matmul(zeros({n, 0}), zeros({0, n}));
       }}};
  for (const auto& [name, make] : factories) {
    for (I n : {huge, I{1} << 47})
      refuses(name + " " + std::to_string(n), ErrorCode::out_of_memory, [&, make = make] { make(n); });
  }
  try {
    zeros({huge});
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("4398046511104 bytes"));
  }
}

TEST_F(BadArguments, ArenasBeyondTheMachineAreRefusedAtTheLineOfCompile) {
  const auto f = compile([](Tensor x) { return sum(exp(broadcast(x, {huge, 2})) * x, {1}); });
  EXPECT_GE(f.prepare(Tensor::of_type({DType::f32, {}})).peak().count, huge);  // a plan needs no memory
  refuses("a call", ErrorCode::out_of_memory, [&] { f(scalar(1)); });
  refuses("prepare", ErrorCode::out_of_memory, [&] { f.prepare(scalar(1)); });
  const auto wide = compile([](Tensor x) { return x + 1; }, {.max_batch = highest});
  refuses("max_batch", ErrorCode::out_of_memory, [&] { wide(ones({4})); });
}

TEST_F(BadArguments, RanksAboveTheLimitAreRefused) {
  const Tensor full_rank = ones({1, 1, 1, 1, 1, 1, 1, 1});
  const auto bad = [&](const std::string& name, const std::function<void()>& f) {
    const int before = refused;
    survives(name, f);
    EXPECT_EQ(refused, before + 1) << name << " was accepted";
  };
  bad("zeros", [] { zeros({1, 1, 1, 1, 1, 1, 1, 1, 1}); });
  bad("reshape", [&] { reshape(full_rank, {1, 1, 1, 1, 1, 1, 1, 1, 1}); });
  bad("broadcast", [&] { broadcast(full_rank, {1, 1, 1, 1, 1, 1, 1, 1, 1}); });
  bad("expand_dims", [&] { expand_dims(full_rank, 0); });
  bad("stack", [&] { stack({full_rank, full_rank}); });
  bad("one_hot", [&] { one_hot(cast(full_rank, DType::i64), 2); });
  bad("take", [&] { take(ones({2, 2}), cast(full_rank, DType::i64), 0); });
  bad("embedding", [&] { embedding(ones({2, 2}), cast(full_rank, DType::i64)); });
  bad("jacobian", [&] { jacobian([](Tensor x) { return x * 2; })(full_rank); });
  bad("einsum", [&] { einsum("abcde,fghij->abcdefghij", {ones({1, 1, 1, 1, 1}), ones({1, 1, 1, 1, 1})}); });
}

TEST_F(BadArguments, FactoriesTakeAnything) {
  sweep("zeros", [](I m, I n, DType t) { zeros({m, n}, t); });
  sweep("full", [](I n, double v, DType t) { full({n}, v, t); });
  sweep("scalar", [](double v, DType t) { scalar(v, t); });
  sweep("arange", [](I n, DType t) { arange(n, t); });
  sweep("linspace", [](double a, double b, I n, DType t) { linspace(a, b, n, t); });
  sweep("eye", [](I n, DType t) { eye(n, t); });
  sweep("like", [](Tensor x) { zeros_like(x), ones_like(x); });
  sweep("tensor", [](I m, I n) { tensor(std::vector<float>{1}, {m, n}); });
  sweep("tensor_from_bytes", [](I n, DType t) {
    const std::byte room[64] = {};
    if (n < 4) tensor_from_bytes({t, {n}}, room);
  });
  EXPECT_GT(accepted, 300);
  EXPECT_GT(refused, 300);
}

TEST_F(BadArguments, ElementwiseFunctionsTakeAnything) {
  const SourceLine here = std::source_location::current();  // the rows below stand in another file
#define TM_UNARY(name) sweep(#name, [=](Tensor x) { name(Operand(x, here)); });
#define TM_BINARY(name) sweep(#name, [=](Tensor x, Tensor y) { name(Operand(x, here), Operand(y, here)); });
#include "tidemark/trace/functions.def"
  sweep("operators", [](Tensor x, Tensor y) { x + y; });
  sweep("/", [](Tensor x, Tensor y) { x / y; });
  sweep("+ number", [](Tensor x, double c) { x + c; });
  sweep("* whole", [](Tensor x, I c) { x* c; });
  sweep("select", [](Tensor c, Tensor x, Tensor y) { select(c, x, y); });
  sweep("clamp", [](Tensor x, double a, double b) { clamp(x, a, b); });
  sweep("clamp whole", [](Tensor x, I a, I b) { clamp(x, a, b); });
  sweep("cast", [](Tensor x, DType t) { cast(x, t); });
  sweep("+=", [](Tensor x, Tensor y) { x += y; });
  EXPECT_GT(accepted, 300);
  EXPECT_GT(refused, 300);
}

TEST_F(BadArguments, MovementTakesAnything) {
  sweep("broadcast", [](Tensor x, I m, I n) { broadcast(x, {m, n}); });
  sweep("reshape", [](Tensor x, I m, I n) { reshape(x, {m, n}); });
  sweep("transpose", [](Tensor x, I a, I b) { transpose(x, {a, b}); });
  sweep("transpose all", [](Tensor x) { transpose(x); });
  sweep("swap_axes", [](Tensor x, int a, int b) { swap_axes(x, a, b); });
  sweep("slice", [](Tensor x, I a, I b, I s) { slice(x, {a}, {b}, {s}); });
  sweep("pad", [](Tensor x, I a, I b, double v) { pad(x, {a}, {b}, v); });
  sweep("pad 2", [](Tensor x, I a, I b) { pad(x, {a, a}, {b, b}); });
  sweep("concat", [](Tensor x, Tensor y, int a) { concat({x, y}, a); });
  sweep("stack", [](Tensor x, Tensor y, int a) { stack({x, y}, a); });
  sweep("split", [](Tensor x, int a, I m, I n) { split(x, a, {m, n}); });
  sweep("split_evenly", [](Tensor x, int a, int n) { split_evenly(x, a, n); });
  sweep("flip", [](Tensor x, I a, I b) { flip(x, {a, b}); });
  sweep("tril", [](Tensor x, I d) { tril(x, d), triu(x, d); });
  sweep("expand_dims", [](Tensor x, int a) { expand_dims(x, a); });
  sweep("squeeze", [](Tensor x, int a) { squeeze(x, a); });
  sweep("at", [](Tensor x, I i) { static_cast<void>(Tensor(x.at(i))); });
  sweep("at range", [](Tensor x, I a, I b, I s) { static_cast<void>(Tensor(x.at(Range{a, b, s}))); });
  sweep("at 2", [](Tensor x, I i, I j) { static_cast<void>(Tensor(x.at(i, j))); });
  sweep("at =", [](Tensor x, I i, Tensor y) { x.at(i) = y; });
  sweep("size", [](Tensor x, int a) { (void)x.size(a); });
  sweep("item", [](Tensor x) { (void)x.item(); });
  sweep("data", [](Tensor x) { (void)x.data<float>(); });
  sweep("to_vector", [](Tensor x) { (void)x.to_vector(); });
  sweep("to_string", [](Tensor x) { (void)to_string(x); });
  EXPECT_GT(accepted, 300);
  EXPECT_GT(refused, 1000);
  refuses("concat", ErrorCode::wrong_operand_count, [] { concat({}, 0); });
  refuses("stack", ErrorCode::wrong_operand_count, [] { stack({}, 0); });
}

TEST_F(BadArguments, IndexingTakesAnything) {
  sweep("take", [](Tensor x, Tensor i, int a) { take(x, i, a); });
  sweep("gather", [](Tensor x, Tensor i, int a) { gather(x, i, a); });
  sweep("scatter_add", [](Tensor x, Tensor i, Tensor y) { scatter_add(x, i, y, 0); });
  sweep("one_hot", [](Tensor i, I n, DType t) { one_hot(i, n, t); });
  sweep("embedding", [](Tensor x, Tensor i) { embedding(x, i); });
  sweep("cross_entropy", [](Tensor x, Tensor y) { cross_entropy(x, y); });
  EXPECT_GT(refused, 300);
}

TEST_F(BadArguments, ReductionsTakeAnything) {
#define TM_REDUCTION(name)                 \
  sweep(#name, [](Tensor x) { name(x); }); \
  sweep(#name " axes", [](Tensor x, I a, I b) { name(x, {a, b}); });
  TM_REDUCTION(sum)
  TM_REDUCTION(mean)
  TM_REDUCTION(max)
  TM_REDUCTION(min)
  TM_REDUCTION(prod)
  TM_REDUCTION(logsumexp)
  TM_REDUCTION(var)
#undef TM_REDUCTION
  sweep("argmax", [](Tensor x, int a) { argmax(x, a); });
  sweep("argmin", [](Tensor x, int a) { argmin(x, a); });
  sweep("cumsum", [](Tensor x, int a) { cumsum(x, a); });
  sweep("softmax", [](Tensor x, int a) { softmax(x, a), log_softmax(x, a); });
  sweep("sort", [](Tensor x, int a) { sort(x, a); });
  sweep("argsort", [](Tensor x, int a) { argsort(x, a, true); });
  sweep("top_k", [](Tensor x, I k, int a) { top_k(x, k, a); });
  EXPECT_GT(accepted, 200);
  EXPECT_GT(refused, 300);
}

TEST_F(BadArguments, ContractionsAndModelOperationsTakeAnything) {
  sweep("matmul", [](Tensor x, Tensor y) { matmul(x, y); });
  for (const char* formula :
       {"", "->", "ij,jk->ik", "i,i", "ii->i", "...i,...i->...", "ij->ji->ij", "a,b", "i,i->j", "ij"})
    sweep(std::string("einsum ") + formula, [=](Tensor x, Tensor y) { einsum(formula, {x, y}); });
  refuses("einsum of nothing", ErrorCode::wrong_operand_count, [] { einsum("->", {}); });
  sweep("conv", [](Tensor x, Tensor w) { conv(x, w); });
  const Tensor image = ones({1, 2, 5}), weights = ones({2, 2, 3}), one = ones({1, 1, 5, 5});
  sweep("conv attributes", [&](I stride, I pad, I groups) {
    conv(image, weights, {.stride = {stride}, .low = {pad}, .high = {pad}, .groups = groups});
  });
  sweep("conv dilation",
        [&](I dilation, I pad) { conv(image, weights, {.high = {pad}, .dilation = {dilation}}); });
  sweep("pool", [&](I window, I stride, I pad) {
    max_pool(one, {.window = {window, window}, .stride = {stride, stride}, .low = {pad, pad}});
    avg_pool(one, {.window = {window, 2}, .stride = {stride, 1}, .high = {pad, 0}});
  });
  sweep("pool of", [](Tensor x) { max_pool(x, {.window = {2}}); });
  sweep("layer_norm", [](Tensor x, Tensor gain, double eps) { layer_norm(x, gain, gain, eps); });
  sweep("rms_norm", [](Tensor x, Tensor gain, double eps) { rms_norm(x, gain, eps); });
  sweep("group_norm", [](Tensor x, Tensor gain, I groups) { group_norm(x, gain, gain, groups); });
  sweep("batch_norm", [](Tensor x, Tensor gain, double eps) { batch_norm(x, gain, gain, eps); });
  sweep("attention", [](Tensor q, Tensor k, double scale) { attention(q, k, k, {.scale = scale}); });
  const Tensor q = ones({1, 1, 2, 4});
  sweep("attention dropout", [&](double rate) { attention(q, q, q, {.dropout = rate}, key(1)); });
  sweep("attention mask", [&](Tensor mask) { attention(q, q, q, mask); });
  sweep("cholesky", [](Tensor x) { cholesky(x); });
  sweep("triangular_solve", [](Tensor x, Tensor y) { triangular_solve(x, y); });
  sweep("solve", [](Tensor x, Tensor y) { solve(x, y); });
  sweep("lstsq", [](Tensor x, Tensor y) { lstsq(x, y); });
  sweep("inv", [](Tensor x) { inv(x), pinv(x); });
  sweep("decompositions", [](Tensor x) { qr(x), svd(x), eigh(x); });
  sweep("svd", [](Tensor x) { svd(x); });
  sweep("determinants", [](Tensor x) { det(x), slogdet(x); });
  sweep("matrix_power", [](Tensor x, I power) { matrix_power(x, power); });
  sweep("matrix_norm", [](Tensor x) { matrix_norm(x, MatrixNorm::spectral), matrix_norm(x); });
  EXPECT_GT(refused, 500);
}

TEST_F(BadArguments, RandomNumbersTakeAnything) {
  const Tensor k = key(lowest);
  sweep("key", [](I seed) { key(seed); });
  sweep("key of", [](Tensor x, I n) { split_key(x, std::min<I>(n, 4)), fold_in(x, n); });
  sweep("split_key", [&](I n) { split_key(k, n); });
  sweep("random_uniform", [&](I n, double a, double b, DType t) { random_uniform(k, {n}, a, b, t); });
  sweep("random_normal", [&](I n, double a, double b, DType t) { random_normal(k, {n}, a, b, t); });
  sweep("random_bernoulli", [&](I n, double p) { random_bernoulli(k, {n}, p); });
  sweep("random_bits", [&](I n, DType t) { random_bits(k, {n}, t); });
  sweep("random_permutation", [&](I n) { random_permutation(k, n); });
  sweep("random of", [](Tensor x) { random_uniform(x, {2}); });
  sweep("dropout", [](Tensor x, double rate, Tensor by) { dropout(x, rate, by); });
  EXPECT_GT(refused, 300);
}

TEST_F(BadArguments, LoopsAndBranchesTakeAnything) {
  sweep("repeat", [](I n, Tensor x) {
    repeat(
        n > 1 ? 2 : n, [](Tensor u) { return u; }, x);
  });
  sweep("repeat with numbers", [](I n) {
    repeat(
        n, [](Tensor u, Tensor) { return u; }, Tensor());
  });
  sweep("repeat changes", [](Tensor x, Tensor y) {
    repeat(
        2, [&](Tensor) { return y; }, x);
  });
  sweep("repeat memory", [](I bytes) {
    grad([&](Tensor x) {
      return sum(
          repeat(3, [](Tensor u) { return sin(u); }, x, {.memory = Bytes(bytes), .disk = Bytes(bytes)}));
    })(ones({2}));
  });
  sweep("scan", [](Tensor h, Tensor xs) { scan([](Tensor u, Tensor x) { return u + sum(x); }, h, xs); });
  sweep("while_loop", [](Tensor x, Tensor test) {
    while_loop([&](Tensor) { return test; }, [](Tensor u) { return u; }, x, {.max_steps = 1});
  });
  sweep("while_loop max_steps", [](I n) {
    while_loop([&](Tensor u) { return u < 3; }, [](Tensor u) { return u + 1; }, scalar(0), {.max_steps = n});
  });
  sweep("cond", [](Tensor p, Tensor x, Tensor y) {
    cond(
        p, [&](Tensor) { return x; }, [&](Tensor) { return y; }, x);
  });
  EXPECT_GT(refused, 200);
}

TEST_F(BadArguments, DerivativesTakeAnything) {
  const auto square_sum = [](Tensor x) { return sum(x * x); };
  sweep("grad", [&](Tensor x) { grad(square_sum)(x); });
  sweep("grad of no scalar", [&](Tensor x) { grad([](Tensor v) { return v; })(x); });
  sweep("grad of no tensor", [&](Tensor x) { grad([](Tensor) { return Tensor(); })(x); });
  sweep("jvp", [&](Tensor x, Tensor v) { jvp(square_sum, x, v); });
  sweep("vjp", [&](Tensor x, Tensor seed) { vjp([](Tensor v) { return v * 2; }, x).second(seed); });
  sweep("hvp", [&](Tensor x, Tensor v) { hvp(square_sum, x, v); });
  sweep("jacobian", [&](Tensor x) { jacobian([](Tensor v) { return v * 2; })(x); });
  sweep("hessian", [&](Tensor x) { hessian(square_sum)(x); });
  sweep("custom_vjp", [&](Tensor x, Tensor back) {
    grad([&](Tensor v) {
      return sum(custom_vjp([](Tensor u) { return u; }, [&](Tensor, Tensor, Tensor) { return back; })(v));
    })(x);
  });
  sweep("checkpoint", [&](Tensor x) { grad(checkpoint(square_sum))(x); });
  sweep("hints", [&](Tensor x) { keep(x), recompute(x), name(x, ""); });
  using Trees = std::vector<Tensor>;
  const auto first = [](const Trees& list) { return sum(list.at(0)); };
  survives("grad of nothing", [&] { grad([](const Trees&) { return scalar(1); })(Trees{}); });
  refuses("tangents", ErrorCode::structure_mismatch, [&] { jvp(first, Trees{ones({2})}, Trees{}); });
  refuses("seeds", ErrorCode::structure_mismatch, [&] {
    vjp([](const Trees& list) { return list; }, Trees{ones({2}), ones({3})}).second(Trees{ones({2})});
  });
  const auto added = [](const Tensor& a, const Tensor& b) { return a + b; };
  EXPECT_EQ(code_of([&] { map_tree(added, Trees{ones({2})}, Trees{}); }), ErrorCode::structure_mismatch);
}

TEST_F(BadArguments, CompiledFunctionsTakeAnything) {
  const auto doubled = compile([](Tensor x) { return x + x; });
  sweep("a call", [&](Tensor x) { doubled(x); });
  sweep("prepare", [&](Tensor x) { doubled.prepare(x); });
  sweep("memory",
        [](I bytes) { compile([](Tensor x) { return x + 1; }, {.memory = Bytes(bytes)})(ones({4})); });
  sweep("effort", [](double effort) {
    compile([](Tensor x) { return x + 1; }, {.memory = Bytes(4096), .effort = effort})(ones({4}));
  });
  sweep("donate", [](int n) { compile([](Tensor x) { return x + 1; }, {.donate = {n}})(ones({4})); });
  sweep("batch", [](int n, I most) {
    compile([](Tensor x) { return x + 1; }, {.max_batch = most, .batch_arguments = {n}})(ones({4}));
  });
  sweep("of_type", [&](I n, DType t) {
    at_line(std::source_location::current(), [&] { doubled.prepare(Tensor::of_type({t, {n}})); });
  });
  EXPECT_GT(accepted, 20);
  EXPECT_GT(refused, 20);
}

}  // namespace
}  // namespace tidemark
