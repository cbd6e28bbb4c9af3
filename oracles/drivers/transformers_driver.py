"""Answers an oracle's verbs with transformers: JSON lines on standard input and output.

One line is one request `{"verb": NAME, ...}`; one line is its answer, `{"ok": ...}` or `{"error": {"kind", "message"}}`.
The first line, written without being asked, says who is answering: `{"ok": IDENTITY}`. Standard error is a log.

Greedy search is written out here: every number that is reported is a value of the model's own logits, in the order in
which they were computed, and no generation setting can touch it.
"""

import argparse
import importlib.metadata
import importlib.util
import json
import os
import platform
import sys
import types

# Standard output carries answers alone: whatever a library prints there goes to the log.
ANSWERS = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)

import torch  # noqa: E402
import transformers  # noqa: E402
from safetensors.torch import save_file  # noqa: E402
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, DynamicCache, GenerationConfig  # noqa: E402
from transformers import Qwen3Config  # noqa: E402
from transformers.activations import ACT2FN  # noqa: E402
from transformers.integrations.gguf import dequant as gguf  # noqa: E402
from transformers.models.glm import modeling_glm as glm  # noqa: E402
from transformers.models.qwen3 import modeling_qwen3 as qwen3  # noqa: E402

# Each of these replaces code of a model by another whose numbers differ, when it can be imported.
REPLACING = ["kernels", "flash_attn", "fla", "causal_conv1d", "mamba_ssm", "liger_kernel"]


class Refusal(Exception):
    """A request that is understood and has no answer."""


class Driver:
    def __init__(self, arguments):
        torch.set_num_threads(arguments.threads)
        torch.set_num_interop_threads(1)
        torch.use_deterministic_algorithms(True)
        torch.manual_seed(0)
        torch.set_grad_enabled(False)
        dtype = getattr(torch, arguments.dtype)
        self.context = arguments.context
        self.tokenizer = AutoTokenizer.from_pretrained(arguments.model, local_files_only=True)
        self.model = AutoModelForCausalLM.from_pretrained(
            arguments.model,
            dtype=dtype,
            attn_implementation=arguments.attention,
            local_files_only=True,
        )
        self.model.eval()
        self.ends = self.end_tokens(arguments.model)

    def end_tokens(self, model):
        """Ids that end a generation, as the checkpoint's generation settings name them, else its configuration."""
        try:
            named = GenerationConfig.from_pretrained(model, local_files_only=True).eos_token_id
        except OSError:
            named = AutoConfig.from_pretrained(model, local_files_only=True).eos_token_id
        if named is None:
            return []
        return [named] if isinstance(named, int) else list(named)

    def identity(self):
        """What is really in effect, each value asked of whoever holds it."""
        parameters = list(self.model.parameters())
        settings = {
            "dtype": joined(str(p.dtype).removeprefix("torch.") for p in parameters),
            "device": joined(str(p.device) for p in parameters),
            "attention": self.model.config._attn_implementation,
            "n_threads": torch.get_num_threads(),
            "n_threads_interop": torch.get_num_interop_threads(),
            "deterministic": torch.are_deterministic_algorithms_enabled(),
            "deterministic_warn_only": torch.is_deterministic_algorithms_warn_only_enabled(),
            "float32_matmul_precision": torch.get_float32_matmul_precision(),
            "mkldnn": torch.backends.mkldnn.enabled and torch.backends.mkldnn.is_available(),
            "cpu_capability": torch.backends.cpu.get_cpu_capability(),
            "training": self.model.training,
            "n_ctx": self.context,
            "model_class": type(self.model).__name__,
            "n_params": sum(p.numel() for p in parameters),
            "n_vocab": self.model.get_input_embeddings().weight.shape[0],
            "n_tokens": len(self.tokenizer),
            "end_tokens": joined(map(str, self.ends)),
            "replacing_packages": joined(name for name in REPLACING if importlib.util.find_spec(name)) or "none",
        }
        build = {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "torch_commit": torch.version.git_version,
            "transformers": transformers.__version__,
        }
        for name in ["tokenizers", "safetensors", "numpy"]:
            build[name] = importlib.metadata.version(name)
        return {"build": build, "settings": {key: shown(value) for key, value in settings.items()}}

    def tokenize(self, text, add_special, parse_special):
        # Without parse_special, `<|name|>` in a text is text.
        encoded = self.tokenizer(text, add_special_tokens=add_special, split_special_tokens=not parse_special)
        return {"ids": encoded["input_ids"]}

    def detokenize(self, ids):
        return {"text": self.text(ids)}

    def text(self, ids):
        return self.tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)

    def render_chat(self, messages):
        if not self.tokenizer.chat_template:
            raise Refusal("the checkpoint has no chat template")
        return {"text": self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)}

    def forward(self, ids, cache, hidden=False):
        return self.model(
            input_ids=torch.tensor([ids]), past_key_values=cache, use_cache=cache is not None, output_hidden_states=hidden
        )

    def complete(self, prompt_ids, max_tokens, top_logprobs, ignore_eos):
        self.check(prompt_ids)
        if len(prompt_ids) + max_tokens > self.context:
            raise Refusal(f"{len(prompt_ids)} and {max_tokens} tokens do not fit into a context of {self.context}")
        cache = DynamicCache(config=self.model.config)
        row = Row(self, {"max_tokens": max_tokens, "top_logprobs": top_logprobs, "ignore_eos": ignore_eos})
        given = prompt_ids
        while not row.reason:
            given = [row.take(self.forward(given, cache).logits[0, -1].float())]
        return row.answer()

    def complete_together(self, requests):
        """A batch: the shorter prompts are padded on the left, and what is padded is masked. A row that is done goes on
        unheard until all are."""
        for request in requests:
            self.check(request["prompt_ids"])
        width = max(len(request["prompt_ids"]) for request in requests)
        longest = max(request["max_tokens"] for request in requests)
        if width + longest > self.context:
            raise Refusal(f"{width} and {longest} tokens do not fit into a context of {self.context}")
        padding = [width - len(request["prompt_ids"]) for request in requests]
        given = torch.tensor([[0] * pad + r["prompt_ids"] for pad, r in zip(padding, requests)])
        mask = torch.tensor([[0] * pad + [1] * (width - pad) for pad in padding])
        positions = (mask.cumsum(-1) - 1).clamp(min=0)
        cache = DynamicCache(config=self.model.config)
        rows = [Row(self, request) for request in requests]
        while not all(row.reason for row in rows):
            output = self.model(
                input_ids=given, attention_mask=mask, position_ids=positions, past_key_values=cache, use_cache=True
            )
            chosen = [row.take(logits.float()) for row, logits in zip(rows, output.logits[:, -1])]
            given = torch.tensor([[id] for id in chosen])
            mask = torch.cat([mask, torch.ones_like(given)], dim=-1)
            positions = positions[:, -1:] + 1
        return [row.answer() for row in rows]

    def prefill(self, prompt_ids, ids, positions, top_logprobs):
        """What is chosen at some positions behind the prompt, all read from one forward pass."""
        self.check(prompt_ids + ids)
        logits = self.forward(prompt_ids + ids, None).logits[0]
        rows = [logits[len(prompt_ids) - 1 + position].float() for position in positions]
        return [step(row, lowest_of_greatest(row), top_logprobs) for row in rows]

    def dump(self, ids, path, layers):
        """Logits of every position and, if asked, the residual stream: `hidden_states.0` after the embedding,
        `hidden_states.N` after layer N, of which the last has passed the final norm."""
        self.check(ids)
        output = self.forward(ids, None, hidden=layers)
        # The head's own rows, in the dtype in which they were computed.
        tensors = {"logits": output.logits[0].contiguous()}
        for index, state in enumerate(output.hidden_states if layers else ()):
            tensors[f"hidden_states.{index}"] = state[0].contiguous().clone()
        tensors["ids"] = torch.tensor(ids, dtype=torch.int64)
        save_file(tensors, path)
        return {"tensors": {name: list(tensor.shape) for name, tensor in tensors.items()}}

    def inside(self, ids, within_layers, path):
        """Values inside the model, a row a token, under the names of the engine's taps; `layer.N.NAME` within layers."""
        self.check(ids)
        with Listener(self.model) as listener:
            output = self.forward(ids, None)
        tensors = {**listener.heard, "logits": output.logits[0].contiguous()}
        return saved({name: value for name, value in tensors.items() if within_layers or name.count(".") < 2}, path)

    def op(self, op, dtype, sizes, args, seed, path):
        """One operation on drawn inputs: `inputs.NAME` and `outputs.NAME`."""
        name = op.replace("-", "_")
        if name not in Operations.NAMES:
            raise Refusal(f"no operation {op!r}")
        operation = getattr(Operations(seed, getattr(torch, dtype)), name)
        given, answers = operation(**sizes, **args)
        tensors = {f"inputs.{name}": tensor for name, tensor in given.items()}
        tensors |= {f"outputs.{name}": tensor for name, tensor in answers.items()}
        return saved(tensors, path)

    def check(self, ids):
        size = self.model.get_input_embeddings().weight.shape[0]
        if not ids:
            raise Refusal("no tokens")
        if max(ids) >= size:
            raise Refusal(f"token {max(ids)} is not among {size}")

    VERBS = {"tokenize", "detokenize", "render_chat", "complete", "complete_together", "prefill", "dump", "inside", "op"}

    def answer(self, request):
        verb = request.pop("verb", None)
        if verb not in self.VERBS:
            raise Refusal(f"no verb {verb!r}")
        return getattr(self, verb)(**request)


class Row:
    """One greedy completion, token by token."""

    def __init__(self, driver, request):
        self.driver, self.request = driver, request
        self.ids, self.steps, self.reason = [], [], None

    def take(self, logits):
        """The choice behind these logits; of a row that is done it counts for nothing."""
        allowed = logits.clone()
        if self.request["ignore_eos"]:
            allowed[self.driver.ends] = -torch.inf
        chosen = lowest_of_greatest(allowed)
        if self.reason:
            return chosen
        if self.request["top_logprobs"]:
            self.steps.append(step(logits, chosen, self.request["top_logprobs"]))
        self.ids.append(chosen)
        if chosen in self.driver.ends:
            self.reason = "stop"
        elif len(self.ids) >= self.request["max_tokens"]:
            self.reason = "length"
        return chosen

    def answer(self):
        shown_ids = self.ids[:-1] if self.reason == "stop" else self.ids
        text = self.driver.text(shown_ids)
        return {"ids": self.ids, "text": text, "finish_reason": self.reason, "steps": self.steps}


class Listener:
    """Hears the values inside a decoder of Llama's shape while it runs, under the names of the engine's taps."""

    def __init__(self, model):
        self.model, self.heard, self.undo = model, {}, []

    def __enter__(self):
        try:
            self.listen(self.model.model)
        except AttributeError as error:
            self.__exit__()
            raise Refusal(f"the values inside {type(self.model).__name__} have other names: {error}") from error
        return self

    def __exit__(self, *_):
        for undo in self.undo:
            undo()

    def listen(self, decoder):
        self.output("embed", decoder.embed_tokens)
        for index, layer in enumerate(decoder.layers):
            name, attention, mlp = f"layer.{index}", layer.self_attn, layer.mlp
            self.output(f"{name}.attention_norm", layer.input_layernorm)
            self.input(f"{name}.attended", attention.o_proj)
            self.output(f"{name}.attention", attention.o_proj)
            self.input(f"{name}.middle", layer.post_attention_layernorm)
            self.output(f"{name}.mlp_norm", layer.post_attention_layernorm)
            self.output(f"{name}.gate", mlp.gate_proj)
            self.output(f"{name}.up", mlp.up_proj)
            self.input(f"{name}.gated", mlp.down_proj)
            self.output(f"{name}.mlp", mlp)
            self.output(name, layer)
        self.output("norm", decoder.norm)
        self.heads(sys.modules[type(decoder.layers[0].self_attn).__module__])

    def heads(self, module):
        """Queries, keys and values as attention gets them: no module's output, so its function is called through us."""
        function = module.eager_attention_forward

        def heard(attention, query, key, value, *rest, **more):
            for name, heads in [("query", query), ("key", key), ("value", value)]:
                self.keep(f"layer.{attention.layer_idx}.{name}", heads.transpose(1, 2).flatten(2))
            return function(attention, query, key, value, *rest, **more)

        module.eager_attention_forward = heard
        self.undo.append(lambda: setattr(module, "eager_attention_forward", function))

    def output(self, name, module):
        hook = module.register_forward_hook(lambda _, given, output: self.keep(name, output))
        self.undo.append(hook.remove)

    def input(self, name, module):
        hook = module.register_forward_pre_hook(lambda _, given: self.keep(name, given[0]))
        self.undo.append(hook.remove)

    def keep(self, name, value):
        # A copy: what follows may be computed in place.
        self.heard[name] = value[0].detach().clone().contiguous()


class Operations:
    """Single operations on drawn inputs, each computed by the code that models run. A method gives the inputs and the
    outputs, both by name; its keywords are sizes, and constants of the operation."""

    NAMES = {"add", "argmax", "attention", "embedding", "linear", "rms_norm", "rope", "silu_mul"}

    def __init__(self, seed, dtype):
        self.generator = torch.Generator().manual_seed(seed)
        self.dtype = dtype

    def draw(self, *shape):
        return torch.randn(shape, generator=self.generator).to(self.dtype)

    def whole(self, below, *shape):
        return torch.randint(below, shape, generator=self.generator)

    def add(self, rows, width):
        x, y = self.draw(rows, width), self.draw(rows, width)
        return {"x": x, "y": y}, {"out": x + y}

    def silu_mul(self, rows, width):
        gate, up = self.draw(rows, width), self.draw(rows, width)
        return {"gate": gate, "up": up}, {"out": ACT2FN["silu"](gate) * up}

    def rms_norm(self, rows, width, piece, eps):
        norm = qwen3.Qwen3RMSNorm(piece, eps)
        norm.weight.data = 1 + self.draw(piece) / 8
        x = self.draw(rows, width)
        return {"x": x, "weight": norm.weight.data}, {"out": norm(x.view(rows, -1, piece)).view(rows, width)}

    def rope(self, rows, heads, start, base, dim, pairs):
        """Positions from `start` on; GLM turns adjacent values, Qwen3 the two halves of a head."""
        turn = {"halves": qwen3.apply_rotary_pos_emb, "adjacent": glm.apply_rotary_pos_emb}[pairs]
        parameters = {"rope_type": "default", "rope_theta": base}
        config = Qwen3Config(head_dim=dim, rope_parameters=parameters, max_position_embeddings=start + rows)
        x, positions = self.draw(rows, heads * dim), torch.arange(start, start + rows)
        cos, sin = qwen3.Qwen3RotaryEmbedding(config)(x, positions[None])
        split = x.view(1, rows, heads, dim).transpose(1, 2)
        out, _ = turn(split, split, cos, sin)
        return {"x": x, "positions": positions}, {"out": out.transpose(1, 2).reshape(rows, heads * dim)}

    def attention(self, rows, heads, key_value_heads, dim, past):
        """Causal, with `past` positions before the first row."""
        seen = past + rows
        query = self.draw(rows, heads * dim)
        key, value = self.draw(seen, key_value_heads * dim), self.draw(seen, key_value_heads * dim)
        mask = torch.full((rows, seen), torch.finfo(self.dtype).min, dtype=self.dtype).triu(past + 1)
        split = [each.view(1, len(each), -1, dim).transpose(1, 2) for each in (query, key, value)]
        shape = types.SimpleNamespace(num_key_value_groups=heads // key_value_heads, training=False)
        out, _ = qwen3.eager_attention_forward(shape, *split, mask[None, None], scaling=dim**-0.5)
        return {"query": query, "key": key, "value": value}, {"out": out.reshape(rows, heads * dim)}

    def linear(self, rows, inputs, outputs, bias=False, weight_format=None):
        x = self.draw(rows, inputs)
        stored, weight = self.weight(outputs, inputs, weight_format)
        given = {"x": x, "weight": stored}
        if bias:
            given["bias"] = self.draw(outputs)
        return given, {"out": torch.nn.functional.linear(x, weight, given.get("bias"))}

    def embedding(self, rows, vocabulary, width, weight_format=None):
        stored, table = self.weight(vocabulary, width, weight_format)
        ids = self.whole(vocabulary, rows)
        return {"ids": ids, "weight": stored}, {"out": torch.nn.functional.embedding(ids, table)}

    def argmax(self, rows, vocabulary, values):
        """So few different values that the highest one occurs several times."""
        logits = self.whole(values, rows, vocabulary).to(self.dtype)
        return {"logits": logits}, {"ids": torch.tensor([lowest_of_greatest(row) for row in logits])}

    def weight(self, rows, columns, named):
        """A matrix as it is stored and as it is multiplied with: dense, or random blocks with scales that are numbers."""
        if named is None:
            dense = (self.draw(rows, columns).float() / columns**0.5).to(self.dtype)
            return dense, dense
        kind = next(kind for kind, name in gguf.GGML_NAME.items() if name == named)
        length, size = gguf.GGML_BLOCK[kind]
        blocks = self.whole(256, rows, columns // length, size).to(torch.uint8)
        # Where the scales of a block lie, and by what they are divided for weights of about the same size.
        places = {"Q8_0": (1 << 10, [0]), "Q4_K": (1 << 12, [0, 2]), "Q5_K": (1 << 13, [0, 2]), "Q6_K": (1 << 14, [208])}
        divisor, offsets = places[named]
        for offset in offsets:
            scales = torch.rand(rows, columns // length, 1, generator=self.generator) / divisor
            blocks[:, :, offset : offset + 2] = scales.to(torch.float16).view(torch.uint8)
        stored = blocks.view(rows, -1)
        return stored, gguf.dequantize(stored.flatten(), kind, torch.float32).view(rows, columns).to(self.dtype)


def saved(tensors, path):
    save_file({name: tensor.detach().clone().contiguous() for name, tensor in tensors.items()}, path)
    shown = {name: [str(tensor.dtype).removeprefix("torch."), list(tensor.shape)] for name, tensor in tensors.items()}
    return {"tensors": shown}


def lowest_of_greatest(logits):
    """The first of the greatest: torch.argmax leaves open which one it takes."""
    return int((logits == logits.max()).nonzero()[0])


def step(logits, chosen, count):
    """The log-softmax of raw logits in float32, most probable first, the lower id first among equals."""
    logprobs = torch.log_softmax(logits, dim=-1)
    order = torch.sort(logprobs, descending=True, stable=True).indices[:count]
    return {
        "id": chosen,
        "logprob": float(logprobs[chosen]),
        "top": [[int(index), float(logprobs[index])] for index in order],
    }


def joined(values):
    return " ".join(sorted(set(values)))


def shown(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def say(answer):
    # A number that is none has no JSON, and raises here.
    ANSWERS.write(json.dumps(answer, allow_nan=False) + "\n")
    ANSWERS.flush()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--dtype", required=True, choices=["float32", "bfloat16", "float16"])
    parser.add_argument("--attention", required=True, choices=["eager", "sdpa"])
    parser.add_argument("--threads", required=True, type=int)
    parser.add_argument("--context", required=True, type=int)
    driver = Driver(parser.parse_args())
    say({"ok": driver.identity()})
    for line in sys.stdin:
        try:
            say({"ok": driver.answer(json.loads(line))})
        except (Refusal, TypeError, ValueError) as error:
            kind = "refused" if isinstance(error, Refusal) else "malformed"
            say({"error": {"kind": kind, "message": str(error)}})


if __name__ == "__main__":
    main()
