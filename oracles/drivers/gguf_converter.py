"""Converts a checkpoint to GGUF with llama.cpp's own converter, and answers for what that does not know of a byte tokenizer.

`convert_hf_to_gguf.py` tells a pre-tokenizer by a hash of what it does to one text, and refuses a hash that is not in its
table. A tokenizer without a single merge has no words to cut, so every byte-pair pre-tokenizer is right: the first of its
table is taken. Any other tokenizer goes the converter's own way.
"""

import argparse
import json
import runpy
import sys
from pathlib import Path

# The oldest name in the converter's table.
PRE_TOKENIZER = "gpt-2"


def merges(model):
    return json.loads((model / "tokenizer.json").read_text(encoding="utf-8"))["model"].get("merges")


def answer_for_bytes(base, gguf):
    """A tokenizer without merges: its pre-tokenizer, and the one merge without which GGUF has none at all."""
    base.TextModel.get_vocab_base_pre = lambda self, tokenizer: PRE_TOKENIZER
    vocabulary = base.TextModel.get_vocab_base
    special = gguf.SpecialVocab.add_to_gguf

    # Its parts are control tokens, which stand in no text, and what they make is a token that nobody uses.
    def parts(tokens, kinds):
        control = [token for token, kind in zip(tokens, kinds) if kind == gguf.TokenType.CONTROL]
        return control[0], control[1]

    def with_unused(self):
        tokens, kinds, pre = vocabulary(self)
        first, second = parts(tokens, kinds)
        tokens[kinds.index(gguf.TokenType.UNUSED)] = first + second
        answer_for_bytes.merge = f"{first} {second}"
        return tokens, kinds, pre

    def with_merge(self, writer, quiet=False):
        self.merges = [answer_for_bytes.merge]
        special(self, writer, quiet)

    def no_sentence_piece(self):
        raise FileNotFoundError("tokenizer.model")

    # Else it imports a library, only to find that there is no such file.
    base.TextModel._set_vocab_sentencepiece = no_sentence_piece
    base.TextModel.get_vocab_base = with_unused
    gguf.SpecialVocab.add_to_gguf = with_merge


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", required=True, type=Path)
    parser.add_argument("--model", required=True, type=Path)
    parser.add_argument("--name", required=True)
    parser.add_argument("--outtype", required=True)
    parser.add_argument("--outfile", required=True, type=Path)
    arguments = parser.parse_args()
    sys.path[:0] = [str(arguments.source), str(arguments.source / "gguf-py")]
    import gguf
    from conversion import base

    if merges(arguments.model) == []:
        answer_for_bytes(base, gguf)
    script = arguments.source / "convert_hf_to_gguf.py"
    sys.argv = [script.name, str(arguments.model), "--model-name", arguments.name]
    sys.argv += ["--outtype", arguments.outtype, "--outfile", str(arguments.outfile)]
    runpy.run_path(str(script), run_name="__main__")


if __name__ == "__main__":
    main()
