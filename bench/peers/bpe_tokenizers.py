#!/usr/bin/env python3
"""Byte-pair encoding of the package `tokenizers` (Hugging Face, in Rust) on a text, next to bench/data_files.cc.

usage: bpe_tokenizers.py TEXT [VOCABULARY]       RAYON_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false for one thread
"""

import sys
import time

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

path, vocabulary = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 8192
text = open(path, encoding="utf-8", errors="replace").read()
tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
trainer = trainers.BpeTrainer(vocab_size=vocabulary, min_frequency=2, show_progress=False,
                              initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
start = time.perf_counter()
tokenizer.train_from_iterator([text], trainer)
trained = time.perf_counter() - start
size, best = len(text.encode()), 1e30
for _ in range(5):
    start = time.perf_counter()
    tokens = tokenizer.encode(text).ids
    best = min(best, time.perf_counter() - start)
print(f"tokenizers: {size / 1e6:.1f} MB, {tokenizer.get_vocab_size()} tokens: trained in {trained:.2f} s, "
      f"encodes {size / 1e6 / best:.1f} MB/s, {size / len(tokens):.2f} bytes a token")
