"""Stands in for vLLM's server: its log lines and endpoints, wrong in one thing on `--stand-in FAULT`."""

import http.server
import json
import os
import sys

words = sys.argv[1:]
given = {word: words[index + 1] for index, word in enumerate(words[:-1]) if word.startswith("--")}
fault = given.get("--stand-in", "")
if fault == "die-at-start":
    sys.exit("stand-in: no such architecture")

eager = fault == "eager"
dtype = "float16" if fault == "dtype" else given["--dtype"]
sequences = "7" if fault == "sequences" else given["--max-num-seqs"]
last = os.environ.get("VLLM_CPU_OMP_THREADS_BIND", "0").split("-")[-1]
cores = ", ".join(str(core) for core in range(int(last) + 1))
mode = "NONE: 0" if eager else "DYNAMO_TRACE_ONCE: 2"
print(f"INFO [api.py:1] non-default args: {{'model': 'm', 'max_num_seqs': {sequences}}}")
print(
    f"INFO [core.py:1] Initializing a V1 LLM engine (v1.0) with config: model='m', dtype=torch.{dtype}, "
    f"enforce_eager={eager}, kv_cache_dtype=auto, device_config={'cuda' if fault == 'device' else 'cpu'}, seed=0, "
    f"enable_prefix_caching=False, compilation_config={{'mode': <CompilationMode.{mode}>, "
    "'backend': 'inductor', 'cudagraph_mode': <CUDAGraphMode.NONE: 0>}, kernel_config=K()"
)
print(f"INFO [omp.py:1] \tlocal_rank=0, core ids=[{cores}]")
if fault != "no-backend":
    print("INFO [selector.py:1] Using HND KV cache layout for CPU_ATTN backend.")
sys.stdout.flush()


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, body, status=200):
        body = body.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        context = int(given["--max-model-len"])
        served = [{"id": given["--served-model-name"], "max_model_len": 17 if fault == "context" else context}]
        answers = {
            "/health": "",
            "/version": json.dumps({"version": "9.9" if fault == "version" else "1.0"}),
            "/v1/models": json.dumps({"data": served}),
            "/metrics": 'vllm:cache_config_info{block_size="128",cache_dtype="auto",enable_prefix_caching="False"} 1.0\n',
        }
        self.answer(answers[self.path])

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/tokenize":
            return self.answer(json.dumps({"tokens": [1, 2]}))
        if self.path == "/detokenize":
            return self.answer(json.dumps({"error": {"message": "no such token"}}), 400)
        if fault == "die" and request["prompt"] != [0]:
            print("stand-in: out of memory", flush=True)
            os._exit(9)
        prompt = [9] if fault == "prompt" and request["prompt"] != [0] else request["prompt"]
        ids = [2] * request["max_tokens"]
        choice = {"text": "b", "token_ids": ids, "prompt_token_ids": prompt, "finish_reason": "length", "logprobs": None}
        self.answer(json.dumps({"choices": [choice], "usage": {"completion_tokens": len(ids)}}))

    def log_message(self, *_):
        pass


http.server.HTTPServer(("127.0.0.1", int(given["--port"])), Handler).serve_forever()
