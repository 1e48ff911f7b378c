// The layers and losses of nn/ on small f64 tensors: what each is given, a number made of its results, and
// the gradients of that number, a line of JSON each. compare_nn.py computes the same with PyTorch.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tidemark/nn/activations.h"
#include "tidemark/nn/convolution.h"
#include "tidemark/nn/ctc.h"
#include "tidemark/nn/embedding.h"
#include "tidemark/nn/encoder_decoder.h"
#include "tidemark/nn/losses.h"
#include "tidemark/nn/recurrent.h"
#include "tidemark/tidemark.h"

using namespace tidemark;
using namespace tidemark::nn;

namespace {

using Named = std::map<std::string, Tensor>;

int next_seed = 0;
Tensor draw(const Shape& shape, double deviation = 1) {
  return random_normal(key(++next_seed), shape, 0, deviation, DType::f64);
}
Tensor integers(const Shape& shape, double below) {
  return cast(floor(random_uniform(key(++next_seed), shape, 0, below)), DType::i64);
}
// Every parameter drawn anew, biases and gains too.
template <class Layer>
Layer random_layer(const Layer& layer) {
  return map_tree([](const Tensor& w) { return draw(w.shape(), 0.5); }, layer);
}
// One number in which every element counts differently.
Tensor probe(const Tensor& y) { return sum(sin(y)); }

void write_tensors(const auto& tree) {
  const char* comma = "";
  for_each_tensor(tree, [&](const std::string& path, const Tensor& t) {
    std::vector<std::string> numbers;
    for (double v : t.to_vector()) numbers.push_back(fmt::format("{:.17g}", v));
    const std::vector<std::int64_t> shape(t.shape().begin(), t.shape().end());
    fmt::print("{}\"{}\": {{\"shape\": [{}], \"data\": [{}]}}", comma, path, fmt::join(shape, ", "),
               fmt::join(numbers, ", "));
    comma = ", ";
  });
}

// `f(trained, data)` is differentiated by what is trained.
template <class Trained, class F>
void report(const std::string& name, const Trained& trained, const Named& data, const F& f) {
  const auto [value, gradient] = compile(value_and_grad(f))(trained, data);
  fmt::print("{{\"case\": \"{}\", \"value\": {:.17g}, \"trained\": {{", name, value.item());
  write_tensors(trained);
  fmt::print("}}, \"data\": {{");
  write_tensors(data);
  fmt::print("}}, \"gradients\": {{");
  write_tensors(gradient);
  fmt::print("}}}}\n");
}

void report_losses() {
  const Named labels{{"labels", tensor(std::vector<std::int64_t>{3, 0, 2, 2, 1, 4}, {6})}};
  for (const bool ignore : {false, true}) {
    for (const double smoothing : {0.0, 0.1}) {
      for (const bool weighted : {false, true}) {
        ClassLossOptions options{.smoothing = smoothing};
        if (ignore) options.ignore = 2;
        Named data = labels;
        if (weighted) data["weights"] = exp(draw({5}));
        const auto name = fmt::format("cross_entropy/{}/{}/{}", ignore, smoothing, weighted);
        report(name, Named{{"x", draw({6, 5})}}, data, [=](const Named& p, const Named& d) {
          ClassLossOptions own = options;
          if (weighted) own.weights = d.at("weights");
          return classification_loss(p.at("x"), d.at("labels"), own);
        });
      }
    }
  }
  report("nll", Named{{"x", draw({6, 5})}}, labels,
         [](const Named& p, const Named& d) { return nll_loss(log_softmax(p.at("x")), d.at("labels")); });

  const Named pair{{"x", draw({4, 3})}, {"y", draw({4, 3})}};
  const auto of_pair = [&](const std::string& name, auto loss) {
    report(name, pair, Named{}, [=](const Named& p, const Named&) { return loss(p.at("x"), p.at("y")); });
  };
  of_pair("mse", [](const Tensor& x, const Tensor& y) { return squared_error(x, y); });
  of_pair("l1", [](const Tensor& x, const Tensor& y) { return absolute_error(x, y); });
  of_pair("huber", [](const Tensor& x, const Tensor& y) { return huber_loss(x, y, 0.7); });
  of_pair("smooth_l1", [](const Tensor& x, const Tensor& y) { return smooth_absolute_error(x, y, 0.7); });
  of_pair("bce", [](const Tensor& x, const Tensor& y) { return binary_loss(sigmoid(x), sigmoid(y)); });
  of_pair("bce_logits", [](const Tensor& x, const Tensor& y) {
    return binary_logits_loss(x, sigmoid(y), {.positive_weight = tensor({0.5, 1.0, 3.0})});
  });
  of_pair("kl", [](const Tensor& x, const Tensor& y) { return divergence_loss(log_softmax(x), softmax(y)); });
  of_pair("kl_log", [](const Tensor& x, const Tensor& y) {
    return divergence_loss(log_softmax(x), log_softmax(y), {Reduction::mean, true});
  });
  report(
      "cosine", pair, Named{{"labels", tensor(std::vector<std::int64_t>{1, -1, 1, -1}, {4})}},
      [](const Named& p, const Named& d) { return cosine_loss(p.at("x"), p.at("y"), d.at("labels"), -0.5); });

  const Named lengths{
      {"labels", tensor(std::vector<std::int64_t>{1, 1, 2, 3, 2, 0, 0, 0, 0, 1, 2, 3}, {4, 3})},
      {"steps", tensor(std::vector<std::int64_t>{8, 6, 7, 3}, {4})},
      {"lengths", tensor(std::vector<std::int64_t>{3, 2, 0, 3}, {4})}};
  for (const Reduction reduction : {Reduction::mean, Reduction::sum}) {
    report(reduction == Reduction::mean ? "ctc/mean" : "ctc/sum", Named{{"x", draw({8, 4, 5})}}, lengths,
           [=](const Named& p, const Named& d) {
             return ctc_loss(log_softmax(p.at("x")), d.at("labels"), d.at("steps"), d.at("lengths"),
                             {reduction});
           });
  }
}

void report_norms() {
  const Tensor x = draw({3, 6, 4, 5});
  const auto norm = random_layer(BatchNorm2d::init(6));
  const Named running{{"mean", draw({6})}, {"variance", exp(draw({6}))}};
  report("batch_norm/train", std::pair(norm, x), running, [](const auto& p, const Named& d) {
    const auto [y, next] = p.first.train(p.second, {d.at("mean"), d.at("variance")});
    return probe(y) + probe(next.mean) + probe(next.variance);
  });
  report("batch_norm/infer", std::pair(norm, x), running, [](const auto& p, const Named& d) {
    return probe(p.first.infer(p.second, {d.at("mean"), d.at("variance")}));
  });
  const auto plain = [](const auto& p, const Named&) { return probe(p.first(p.second)); };
  report("group_norm", std::pair(random_layer(GroupNorm::init(6, 3)), x), Named{}, plain);
  report("instance_norm", std::pair(random_layer(InstanceNorm::init(6)), x), Named{}, plain);
  report("layer_norm", std::pair(random_layer(LayerNorm::init(5)), x), Named{}, plain);
  report("rms_norm", std::pair(random_layer(RmsNorm::init(5)), x), Named{}, plain);
}

void report_attention() {
  const Tensor x = draw({2, 5, 8}), from = draw({2, 6, 8});
  const Named present{
      {"present", cast(arange(6) < reshape(tensor({std::int64_t{6}, std::int64_t{4}}), {2, 1}), DType::i64)}};
  const auto layer = random_layer(MultiHeadAttention::init(key(1), 8, 4));
  report("attention/causal", std::tuple(layer, x), Named{},
         [](const auto& p, const Named&) { return probe(std::get<0>(p)(std::get<1>(p), {.causal = true})); });
  report("attention/cross", std::tuple(layer, x, from), present, [](const auto& p, const Named& d) {
    return probe(std::get<0>(p)(std::get<1>(p), std::get<2>(p), {.key_mask = d.at("present") > 0}));
  });
  report("attention/grouped", std::tuple(random_layer(MultiHeadAttention::init(key(1), 8, 4, 2)), x), Named{},
         [](const auto& p, const Named&) { return probe(std::get<0>(p)(std::get<1>(p), {.causal = true})); });
  for (const bool pre_norm : {false, true}) {
    const TransformerConfig config{.layers = 2,
                                   .width = 8,
                                   .heads = 2,
                                   .hidden = 12,
                                   .pre_norm = pre_norm,
                                   .activation = Activation::gelu};
    report(fmt::format("encoder/{}", pre_norm),
           std::tuple(random_layer(TransformerEncoder::init(key(1), config)), x), Named{},
           [](const auto& p, const Named&) { return probe(std::get<0>(p)(std::get<1>(p))); });
    report(fmt::format("decoder/{}", pre_norm),
           std::tuple(random_layer(TransformerDecoder::init(key(1), config)), x, from), present,
           [](const auto& p, const Named& d) {
             return probe(std::get<0>(p)(std::get<1>(p), std::get<2>(p), {.causal = true},
                                         {.key_mask = d.at("present") > 0}));
           });
  }
}

void report_recurrent() {
  const Tensor x = draw({6, 3, 4});
  const Named lengths{{"lengths", tensor(std::vector<std::int64_t>{6, 2, 4}, {3})}};
  const auto scanned = [](const auto& p, const Named&) {
    const auto [y, end] = p.first.scanned(p.second, p.first.start(3));
    return probe(y) + probe(end.hidden);
  };
  report("lstm", std::pair(random_layer(LstmLayer::init(key(1), 4, 5)), x), Named{}, scanned);
  report("gru", std::pair(random_layer(GruLayer::init(key(1), 4, 5)), x), Named{}, scanned);
  const auto both = [](const auto& p, const Named& d) { return probe(p.first(p.second, d.at("lengths"))); };
  report("lstm/both", std::pair(random_layer(Bidirectional<LstmLayer>::init(key(1), 4, 5)), x), lengths,
         both);
  report("gru/both", std::pair(random_layer(Bidirectional<GruLayer>::init(key(1), 4, 5)), x), lengths, both);
}

void report_convolutions() {
  const auto plain = [](const auto& p, const Named&) { return probe(p.first(p.second)); };
  const ConvolutionOptions options{.stride = {2}, .padding = {1}, .groups = 2},
      transposed{.stride = {2}, .padding = {1}, .output_padding = {1}, .groups = 2},
      dilated{.padding = {2}, .dilation = {2}};
  for (int d = 1; d <= 3; ++d) {
    Shape shape{2, 4};
    for (int i = 0; i < d; ++i) shape.push_back(5 + i);
    const Dims kernel = Dims::filled(d, 3);
    report(fmt::format("conv{}d", d),
           std::pair(random_layer(Convolution::init(key(1), 4, 6, kernel, options)), draw(shape)), Named{},
           plain);
    report(fmt::format("conv{}d/dilated", d),
           std::pair(random_layer(Convolution::init(key(1), 4, 6, kernel, dilated)), draw(shape)), Named{},
           plain);
    report(
        fmt::format("conv_transpose{}d", d),
        std::pair(random_layer(TransposedConvolution::init(key(1), 4, 6, kernel, transposed)), draw(shape)),
        Named{}, plain);
  }
}

void report_activations() {
  const Named x{{"x", draw({4, 6}, 4)}};
  const std::vector<std::pair<const char*, Tensor (*)(const Tensor&)>> rows = {
      {"elu", [](const Tensor& t) { return elu(t, 1.5); }},
      {"celu", [](const Tensor& t) { return celu(t, 2); }},
      {"selu", [](const Tensor& t) { return selu(t); }},
      {"mish", [](const Tensor& t) { return mish(t); }},
      {"relu6", [](const Tensor& t) { return relu6(t); }},
      {"hardtanh", [](const Tensor& t) { return hardtanh(t); }},
      {"hardsigmoid", [](const Tensor& t) { return hardsigmoid(t); }},
      {"hardswish", [](const Tensor& t) { return hardswish(t); }},
      {"logsigmoid", [](const Tensor& t) { return logsigmoid(t); }},
      {"softsign", [](const Tensor& t) { return softsign(t); }},
      {"tanhshrink", [](const Tensor& t) { return tanhshrink(t); }},
      {"softshrink", [](const Tensor& t) { return softshrink(t); }},
      {"hardshrink", [](const Tensor& t) { return hardshrink(t); }},
      {"gelu_tanh", [](const Tensor& t) { return gelu_tanh(t); }},
      {"glu", [](const Tensor& t) { return glu(t); }},
  };
  for (const auto& [name, f] : rows) {
    report(name, x, Named{}, [f = f](const Named& p, const Named&) { return probe(f(p.at("x"))); });
  }
  report("prelu", Named{{"x", draw({2, 3, 4})}, {"slope", draw({3})}}, Named{},
         [](const Named& p, const Named&) { return probe(prelu(p.at("x"), p.at("slope"))); });
  const Embedding table = random_layer(Embedding::init(key(1), 5, 3, 2));
  report("embedding", table, Named{{"tokens", integers({4, 3}, 5)}},
         [](const Embedding& p, const Named& d) { return probe(p(d.at("tokens"))); });
}

}  // namespace

int main() {
  report_losses();
  report_norms();
  report_attention();
  report_recurrent();
  report_convolutions();
  report_activations();
}
