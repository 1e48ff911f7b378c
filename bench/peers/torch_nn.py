"""The cases of bench/nn_gradients.cc in PyTorch. Reads its lines; prints for each a line with the value and gradients."""
import json
import sys
import warnings

import torch
import torch.nn.functional as F

F64 = torch.float64


def probe(y):
    return torch.sin(y).sum()


def branch(p, prefix):
    """The tensors below a path, by what follows it."""
    return {name[len(prefix) + 1:]: t for name, t in p.items() if name.startswith(prefix + ".")}


def linear(p, name, x):
    return x @ p[name + ".weight"] + p[name + ".bias"]


def attention(p, x, source, heads, causal=False, present=None):
    """torch.nn.MultiheadAttention where there are as many heads of keys as of queries, else scaled_dot_product_attention."""
    width, kv_width = p["q.weight"].shape[0], p["k.weight"].shape[1]
    mask = None if present is None else present.bool()
    if kv_width == width:
        layer = lambda a, b: F.multi_head_attention_forward(
            a.transpose(0, 1), b.transpose(0, 1), b.transpose(0, 1), width, heads, None,
            torch.cat([p["q.bias"], p["k.bias"], p["v.bias"]]), None, None, False, 0.0, p["out.weight"].T, p["out.bias"],
            use_separate_proj_weight=True, q_proj_weight=p["q.weight"].T, k_proj_weight=p["k.weight"].T,
            v_proj_weight=p["v.weight"].T, key_padding_mask=None if mask is None else ~mask, need_weights=False,
            attn_mask=torch.ones(a.shape[1], b.shape[1], dtype=torch.bool).triu(1) if causal else None)[0].transpose(0, 1)
        return layer(x, source)
    split = lambda y: y.unflatten(-1, (-1, width // heads)).transpose(1, 2)
    mixed = F.scaled_dot_product_attention(split(linear(p, "q", x)), split(linear(p, "k", source)),
                                           split(linear(p, "v", source)), is_causal=causal, enable_gqa=True)
    return linear(p, "out", mixed.transpose(1, 2).flatten(2))


def attention_values(p, to):
    return {to + "in_proj_weight": torch.cat([p["q.weight"].T, p["k.weight"].T, p["v.weight"].T]),
            to + "in_proj_bias": torch.cat([p["q.bias"], p["k.bias"], p["v.bias"]]),
            to + "out_proj.weight": p["out.weight"].T, to + "out_proj.bias": p["out.bias"]}


def layer_values(p, index, decoder):
    own, to = branch(p, f"layers.{index}"), f"layers.{index}."
    values = attention_values(branch(own, "attention"), to + "self_attn.")
    if decoder:
        values |= attention_values(branch(own, "cross"), to + "multihead_attn.")
    for number, part in ((1, "up"), (2, "down")):
        values[to + f"linear{number}.weight"] = own[f"feed_forward.{part}.weight"].T
        values[to + f"linear{number}.bias"] = own[f"feed_forward.{part}.bias"]
    for number in range(1, 4 if decoder else 3):
        values[to + f"norm{number}.weight"] = own[f"norm{number}.gain"]
        values[to + f"norm{number}.bias"] = own[f"norm{number}.bias"]
    return values


def stack(p, decoder, pre_norm):
    kind, whole = ((torch.nn.TransformerDecoderLayer, torch.nn.TransformerDecoder) if decoder else
                   (torch.nn.TransformerEncoderLayer, torch.nn.TransformerEncoder))
    layer = kind(8, 2, 12, 0.0, "gelu", batch_first=True, norm_first=pre_norm, dtype=F64)
    model = whole(layer, 2, torch.nn.LayerNorm(8, dtype=F64) if pre_norm else None)
    values = layer_values(p, 0, decoder) | layer_values(p, 1, decoder)
    if pre_norm:
        values |= {"norm.weight": p["last.0.gain"], "norm.bias": p["last.0.bias"]}
    return lambda *args, **named: torch.func.functional_call(model, values, args, named)


def recurrent(kind, parts, x, lengths):
    """One layer of torch.nn.LSTM or GRU with our weights, of one direction or two."""
    width = parts[0]["hidden"].shape[0]
    layer = getattr(torch.nn, kind)(x.shape[2], width, bidirectional=len(parts) == 2, dtype=F64)
    values = {}
    for p, suffix in zip(parts, ("", "_reverse")):
        values["weight_ih_l0" + suffix], values["weight_hh_l0" + suffix] = p["input"].T, p["hidden"].T
        values["bias_ih_l0" + suffix] = p["bias"]
        values["bias_hh_l0" + suffix] = p.get("hidden_bias", torch.zeros_like(p["bias"]))
    if lengths is not None:
        packed = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
        y, end = torch.func.functional_call(layer, values, (packed,))
        y, _ = torch.nn.utils.rnn.pad_packed_sequence(y, total_length=x.shape[0])
    else:
        y, end = torch.func.functional_call(layer, values, (x,))
    return y, end[0] if kind == "LSTM" else end


def batch_norm(p, d, training):
    mean, variance = d["mean"].clone(), d["variance"].clone()
    y = F.batch_norm(p["1"], mean, variance, p["0.gain"], p["0.bias"], training)
    return probe(y) + (probe(mean) + probe(variance) if training else 0)


def norm_with(f):
    return lambda p, d: probe(f(p["1"], p["0.gain"], p.get("0.bias")))


def class_loss(p, d, ignore, smoothing):
    return F.cross_entropy(p["x"], d["labels"], weight=d.get("weights"), ignore_index=2 if ignore == "true" else -100,
                           label_smoothing=float(smoothing))


CASES = {
    "nll": lambda p, d: F.nll_loss(F.log_softmax(p["x"], -1), d["labels"]),
    "mse": lambda p, d: F.mse_loss(p["x"], p["y"]),
    "l1": lambda p, d: F.l1_loss(p["x"], p["y"]),
    "huber": lambda p, d: F.huber_loss(p["x"], p["y"], delta=0.7),
    "smooth_l1": lambda p, d: F.smooth_l1_loss(p["x"], p["y"], beta=0.7),
    "bce": lambda p, d: F.binary_cross_entropy(p["x"].sigmoid(), p["y"].sigmoid()),
    "bce_logits": lambda p, d: F.binary_cross_entropy_with_logits(p["x"], p["y"].sigmoid(),
                                                                  pos_weight=torch.tensor([0.5, 1, 3], dtype=F64)),
    "kl": lambda p, d: F.kl_div(p["x"].log_softmax(-1), p["y"].softmax(-1), reduction="batchmean"),
    "kl_log": lambda p, d: F.kl_div(p["x"].log_softmax(-1), p["y"].log_softmax(-1), reduction="mean", log_target=True),
    "cosine": lambda p, d: F.cosine_embedding_loss(p["x"], p["y"], d["labels"], margin=-0.5),
    "batch_norm/train": lambda p, d: batch_norm(p, d, True),
    "batch_norm/infer": lambda p, d: batch_norm(p, d, False),
    "group_norm": norm_with(lambda x, gain, bias: F.group_norm(x, 3, gain, bias)),
    "instance_norm": norm_with(lambda x, gain, bias: F.instance_norm(x, weight=gain, bias=bias)),
    "layer_norm": norm_with(lambda x, gain, bias: F.layer_norm(x, (5,), gain, bias)),
    "rms_norm": norm_with(lambda x, gain, bias: F.rms_norm(x, (5,), gain, eps=1e-5)),
    "attention/causal": lambda p, d: probe(attention(branch(p, "0"), p["1"], p["1"], 4, True)),
    "attention/cross": lambda p, d: probe(attention(branch(p, "0"), p["1"], p["2"], 4, present=d["present"])),
    "attention/grouped": lambda p, d: probe(attention(branch(p, "0"), p["1"], p["1"], 4, True)),
    "lstm/both": lambda p, d: probe(recurrent("LSTM", [branch(p, "0.forward"), branch(p, "0.backward")], p["1"],
                                              d["lengths"])[0]),
    "gru/both": lambda p, d: probe(recurrent("GRU", [branch(p, "0.forward"), branch(p, "0.backward")], p["1"],
                                             d["lengths"])[0]),
    "prelu": lambda p, d: probe(F.prelu(p["x"], p["slope"])),
    "embedding": lambda p, d: probe(F.embedding(d["tokens"], p["table"], padding_idx=2)),
    "elu": lambda p, d: probe(F.elu(p["x"], 1.5)),
    "celu": lambda p, d: probe(F.celu(p["x"], 2)),
    # PyTorch's own gradient of it has a sixth in single precision (2.15), 5e-9 away.
    "hardsigmoid": lambda p, d: probe(F.relu6(p["x"] + 3) / 6),
    "gelu_tanh": lambda p, d: probe(F.gelu(p["x"], approximate="tanh")),
}
for name in ("selu", "mish", "relu6", "hardtanh", "hardswish", "logsigmoid", "softsign", "tanhshrink",
             "softshrink", "hardshrink", "glu"):
    CASES[name] = lambda p, d, f=getattr(F, name): probe(f(p["x"]))


def run(name, p, d):
    if name in CASES:
        return CASES[name](p, d)
    kind, _, rest = name.partition("/")
    if kind == "cross_entropy":
        ignore, smoothing, _ = rest.split("/")
        return class_loss(p, d, ignore, smoothing)
    if kind == "ctc":
        return F.ctc_loss(p["x"].log_softmax(-1), d["labels"], d["steps"], d["lengths"], reduction=rest)
    if kind == "encoder":
        return probe(stack(branch(p, "0"), False, rest == "true")(p["1"]))
    if kind == "decoder":
        mask = torch.ones(5, 5, dtype=torch.bool).triu(1)
        return probe(stack(branch(p, "0"), True, rest == "true")(p["1"], p["2"], tgt_mask=mask,
                                                                 memory_key_padding_mask=~d["present"].bool()))
    if kind in ("lstm", "gru"):
        y, end = recurrent(kind.upper(), [branch(p, "0")], p["1"], None)
        return probe(y) + probe(end)
    x, weight, bias = p["1"], p["0.weight"], p["0.bias.0"]
    if kind.startswith("conv_transpose"):
        return probe(getattr(F, kind)(x, weight, bias, 2, 1, 1, 2))
    return probe(getattr(F, kind)(x, weight, bias, 1, 2, 2) if rest == "dilated" else
                 getattr(F, kind)(x, weight, bias, 2, 1, 1, 2))


def tensors(described, differentiable):
    return {path: torch.tensor(t["data"], dtype=F64).reshape(t["shape"]).requires_grad_(differentiable)
            for path, t in described.items()}


def main():
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        row = json.loads(line)
        trained, data = tensors(row["trained"], True), tensors(row["data"], False)
        whole = {"labels", "steps", "lengths", "tokens", "present"}
        data = {path: t.long() if path in whole else t for path, t in data.items()}
        value = run(row["case"], trained, data)
        gradients = torch.autograd.grad(value, list(trained.values()), allow_unused=True)
        print(json.dumps({"case": row["case"], "value": value.item(), "gradients": {
            path: (torch.zeros_like(t) if g is None else g).flatten().tolist()
            for (path, t), g in zip(trained.items(), gradients)}}))


if __name__ == "__main__":
    main()
