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

# Standard output carries answers alone: whatever a library prints there goes to the log.
ANSWERS = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)

import torch  # noqa: E402
import transformers  # noqa: E402
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, DynamicCache, GenerationConfig  # noqa: E402

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
        ids, steps, reason = [], [], "length"
        given = prompt_ids
        while len(ids) < max_tokens:
            logits = self.forward(given, cache).logits[0, -1].float()
            allowed = logits.clone()
            if ignore_eos:
                allowed[self.ends] = -torch.inf
            chosen = lowest_of_greatest(allowed)
            if top_logprobs:
                steps.append(step(logits, chosen, top_logprobs))
            ids.append(chosen)
            given = [chosen]
            if chosen in self.ends:
                reason = "stop"
                break
        shown_ids = ids[:-1] if reason == "stop" else ids
        return {"ids": ids, "text": self.text(shown_ids), "finish_reason": reason, "steps": steps}

    def dump(self, ids, path, layers):
        """Logits of every position and, if asked, the residual stream: `hidden_states.0` after the embedding,
        `hidden_states.N` after layer N, of which the last has passed the final norm."""
        from safetensors.torch import save_file

        self.check(ids)
        output = self.forward(ids, None, hidden=layers)
        # The head's own rows, in the dtype in which they were computed.
        tensors = {"logits": output.logits[0].contiguous()}
        for index, state in enumerate(output.hidden_states if layers else ()):
            tensors[f"hidden_states.{index}"] = state[0].contiguous().clone()
        tensors["ids"] = torch.tensor(ids, dtype=torch.int64)
        save_file(tensors, path)
        return {"tensors": {name: list(tensor.shape) for name, tensor in tensors.items()}}

    def check(self, ids):
        size = self.model.get_input_embeddings().weight.shape[0]
        if not ids:
            raise Refusal("no tokens")
        if max(ids) >= size:
            raise Refusal(f"token {max(ids)} is not among {size}")

    VERBS = {"tokenize", "detokenize", "render_chat", "complete", "dump"}

    def answer(self, request):
        verb = request.pop("verb", None)
        if verb not in self.VERBS:
            raise Refusal(f"no verb {verb!r}")
        return getattr(self, verb)(**request)


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
