"""Stands in for SGLang's server: its endpoints, wrong in one thing on `--stand-in FAULT`."""

import http.server
import json
import os
import sys

words = sys.argv[1:]
given = {word: words[index + 1] for index, word in enumerate(words[:-1]) if word.startswith("--")}
fault = given.get("--stand-in", "")
if fault == "die-at-start":
    sys.exit("stand-in: no such architecture")

VOCABULARY = 3
keeps = "--disable-radix-cache" not in words
seen = set()


def backend(phase, default):
    return "disabled" if fault == "eager" else given.get(f"--cuda-graph-backend-{phase}", default)


def server_info():
    front = {
        "version": "9.9" if fault == "version" else "1.0",
        "dtype": "float16" if fault == "dtype" else given["--dtype"],
        "context_length": 17 if fault == "context" else int(given["--context-length"]),
        "attention_backend": None,
        "device": "cuda" if fault == "device" else "cpu",
        "max_running_requests": int(given["--max-running-requests"]),
        "max_total_num_tokens": 4096,
    }
    scheduler = {
        "attention_backend": "triton" if fault == "attention" else "fa3",
        "kv_cache_dtype": "auto",
        "disable_radix_cache": not keeps,
        "effective_max_running_requests_per_dp": 7 if fault == "memory" else int(given["--max-running-requests"]),
        "cuda_graph_config": {
            "decode": {"backend": backend("decode", "full")},
            "prefill": {"backend": backend("prefill", "breakable")},
        },
    }
    if fault == "no-graphs-told":
        del scheduler["cuda_graph_config"]
    return front | {"internal_states": [scheduler]}


def row(k):
    # Token 2 is what is always chosen.
    ranking = [(-0.25, 2), (-2.0, 0), (-2.5, 1)]
    return [[value, token, None] for value, token in ranking[:k]]


def generate(request):
    prompt = request["input_ids"]
    if fault == "die" and prompt != [0]:
        print("stand-in: out of memory", flush=True)
        os._exit(9)
    # What the real one cannot survive.
    k = request.get("top_logprobs_num", 0)
    if k > VOCABULARY:
        os._exit(9)
    ids = [2] * request["sampling_params"]["max_new_tokens"]
    cached = len(prompt) - 1 if keeps and tuple(prompt) in seen else 0
    seen.add(tuple(prompt))
    meta = {
        "finish_reason": {"type": "length", "length": len(ids)},
        "prompt_tokens": len(prompt),
        "completion_tokens": len(ids),
        "cached_tokens": cached,
    }
    if request.get("return_logprob"):
        meta["output_token_logprobs"] = [[-0.25, token, None] for token in ids]
        meta["output_top_logprobs"] = [row(k) for _ in ids]
    if request.get("return_flat_raw_top_logprobs"):
        rows = [row(k) for _ in prompt[request["logprob_start_len"] + 1 :]]
        meta["input_top_logprobs_shape"] = [len(rows), k]
        meta["input_top_logprobs_null_prefix"] = 1
        meta["input_top_logprobs_val_flat"] = [value for entries in rows for value, _, _ in entries]
        meta["input_top_logprobs_idx_flat"] = [token for entries in rows for _, token, _ in entries]
    told = [9] if fault == "prompt" and prompt != [0] else prompt
    return {"text": "b", "output_ids": ids, "prompt_token_ids": told, "meta_info": meta}


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, body, status=200):
        body = body.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        answers = {"/health": "", "/server_info": json.dumps(server_info())}
        self.answer(answers[self.path])

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/tokenize":
            return self.answer(json.dumps({"tokens": [1, 2], "count": 2, "max_model_len": 99}))
        if self.path == "/detokenize":
            if request["tokens"] == [9]:
                return self.answer(json.dumps({"object": "error", "message": "no such token"}), 400)
            return self.answer(json.dumps({"text": "ab"}))
        self.answer(json.dumps(generate(request)))

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(given["--port"])), Handler).serve_forever()
