#include "bench/support/training_rows.h"

#include "tidemark/ir/graph.h"
#include "tidemark/ir/op.h"
#include "tidemark/ops/cpu_target.h"

namespace tidemark::bench {
namespace {

using tiny::random_labels;
using tiny::TinyModel;
constexpr auto adamw = nn::OptimizerKind::adamw;

TinyModel mlp() {
  const auto init = [] { return nn::Mlp::init(key(0), {784, 1024, 1024, 1024, 10}); };
  return tiny::classifier("mlp", adamw, init, random_normal(key(7), {256, 784}), random_labels(8, {256}, 10));
}

TinyModel gpt(std::string name, const nn::GptConfig& config, std::int64_t batch) {
  const auto init = [config] { return nn::Gpt::init(key(0), config); };
  return tiny::classifier(std::move(name), adamw, init,
                          random_labels(7, {batch, config.context}, config.vocabulary),
                          random_labels(8, {batch, config.context}, config.vocabulary));
}

TinyModel resnet18() {
  const auto init = [] { return nn::ResNet::init(key(0), {}); };
  return tiny::classifier("resnet18", adamw, init, tiny::random_images(16, 64), random_labels(8, {16}, 1000));
}

TinyModel vit() {
  static constexpr nn::VitConfig config{
      .layers = 6, .width = 384, .heads = 6, .patch = 8, .side = 64, .classes = 1000};
  const auto init = [] { return nn::Vit::init(key(0), config); };
  return tiny::classifier("vit", adamw, init, tiny::random_images(16, config.side),
                          random_labels(8, {16}, config.classes));
}

TinyModel moe() {
  static constexpr nn::MoeConfig config{.layers = 4,
                                        .width = 256,
                                        .heads = 4,
                                        .kv_heads = 4,
                                        .hidden = 512,
                                        .vocabulary = 4096,
                                        .experts = 8,
                                        .top = 2};
  return tiny::make(
      "moe", adamw, [] { return nn::Moe::init(key(0), config); },
      [](const nn::Moe& model, Tensor in, Tensor next) { return model.loss(in, next); },
      random_labels(7, {8, 256}, config.vocabulary), random_labels(8, {8, 256}, config.vocabulary));
}

TinyModel unet() {
  const auto init = [] { return nn::UNet::init(key(0), {}); };
  return tiny::classifier("unet", adamw, init, tiny::random_images(4, 128),
                          random_labels(8, {4, 128, 128}, 2));
}

constexpr nn::LstmConfig lstm_config{.layers = 1, .width = 512, .vocabulary = 256};

template <class Init>
TinyModel lstm(std::string name, const Init& init) {
  return tiny::classifier(std::move(name), adamw, init, random_labels(7, {256, 16}, lstm_config.vocabulary),
                          random_labels(8, {256, 16}, lstm_config.vocabulary));
}

}  // namespace

Tensor ScanLstm::operator()(const Tensor& tokens) const {
  Tensor h = embedding(lstm.token_table, tokens);  // (T, B, width)
  for (const nn::LstmLayer& layer : lstm.layers) {
    const std::int64_t batch = h.size(1), width = layer.hidden.size(0);
    const Tensor zero = zeros({batch, width}, h.dtype());
    h = scan(
            [&](const std::pair<Tensor, Tensor>& state, const Tensor& from_input) {
              const std::vector<Tensor> gate =
                  split_evenly(from_input + matmul(state.first, layer.hidden), -1, 4);
              const Tensor cell = sigmoid(gate[1]) * state.second + sigmoid(gate[0]) * tanh(gate[2]);
              const Tensor out = sigmoid(gate[3]) * tanh(cell);
              return std::pair(std::pair(out, cell), out);
            },
            std::pair(zero, zero), matmul(h, layer.input) + layer.bias)
            .second;
  }
  return lstm.head(h);
}

ScanGpt ScanGpt::init(const Tensor& key, const nn::GptConfig& config) {
  const nn::Gpt gpt = nn::Gpt::init(key, config);
  std::vector<std::vector<Tensor>> weights;
  for (const nn::TransformerBlock& block : gpt.blocks) {
    std::vector<Tensor> list = tensors_of(block);
    weights.resize(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) weights[i].push_back(list[i]);
  }
  std::vector<Tensor> stacked;
  for (const std::vector<Tensor>& list : weights) stacked.push_back(stack(list));
  return {gpt.token_table, gpt.position_table, with_tensors(gpt.blocks.front(), stacked), gpt.norm,
          gpt.heads};
}

Tensor ScanGpt::operator()(const Tensor& tokens) const {
  const auto step = [&](const Tensor& h, const nn::TransformerBlock& block) { return block(h, heads); };
  const Tensor first = embedding(token_table, tokens) + position_table.at(Range{0, tokens.size(-1)});
  return matmul(norm(scan(step, first, blocks)), transpose(token_table));
}

std::vector<TrainingRow> training_rows() {
  static constexpr nn::GptConfig scanned{
      .layers = 8, .width = 256, .heads = 4, .vocabulary = 1024, .context = 256};
  return {
      {"mlp", "MLP 3 x 1024, batch 256", mlp},
      {"gpt", "GPT 6 x 384, context 256, batch 16",
       [] {
         return gpt("gpt", {.layers = 6, .width = 384, .heads = 6, .vocabulary = 8192, .context = 256}, 16);
       }},
      {"gpt-long", "GPT 4 x 256, context 2048, batch 2",
       [] {
         return gpt("gpt-long", {.layers = 4, .width = 256, .heads = 4, .vocabulary = 8192, .context = 2048},
                    2);
       }},
      {"resnet18", "ResNet-18, 64 x 64, batch 16", resnet18},
      {"unet", "U-Net, 128 x 128, batch 4", unet},
      {"vit", "ViT 6 x 384, 64 x 64 in patches of 8, batch 16", vit},
      {"moe", "mixture of 8 experts, 2 for a token, 4 x 256, context 256, batch 8", moe},
      {"lstm", "LSTM 512, 256 steps, batch 16",
       [] { return lstm("lstm", [] { return nn::Lstm::init(key(0), lstm_config); }); }},
      {"lstm-scan", "the same with its steps as one scan",
       [] { return lstm("lstm-scan", [] { return ScanLstm{nn::Lstm::init(key(0), lstm_config)}; }); }},
      {"gpt-scan", "GPT 8 x 256, context 256, batch 8, its blocks as one scan",
       [] {
         return tiny::classifier(
             "gpt-scan", adamw, [] { return ScanGpt::init(key(0), scanned); },
             random_labels(7, {8, scanned.context}, scanned.vocabulary),
             random_labels(8, {8, scanned.context}, scanned.vocabulary));
       }},
  };
}

double product_flops(const Graph& graph, const Plan& plan) {
  double flops = 0;
  for (std::uint32_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    const std::vector<RegionFacts> facts = region_facts(plan, NodeId(i));
    NodeCall call(graph, node);
    call.call.planned = facts;
    const Cost cost = cpu_target().cost(call);
    if (!node.regions.empty() || cost.work == WorkKind::contraction || cost.work == WorkKind::convolution ||
        cost.work == WorkKind::attention) {
      flops += cost.flops;
    }
  }
  return flops;
}

std::int64_t parameter_count(const TinyModel& model) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < model.state / 3; ++i) {
    count += element_count(model.step.type(model.step.inputs()[i].value).shape);
  }
  return count;
}

}  // namespace tidemark::bench
