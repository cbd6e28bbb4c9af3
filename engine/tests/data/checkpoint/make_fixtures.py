"""Writes the fixtures of this folder, and what Python reads back from them.

The readers and writers are the reference packages, so that the expected values do not come from the
code under test: pip install gguf==0.19.0 safetensors==0.8.0 numpy==2.4.6; python make_fixtures.py
"""

import hashlib
import json
from pathlib import Path

import numpy as np
import safetensors
from gguf import GGMLQuantizationType as Type
from gguf import GGUFReader, GGUFValueType, GGUFWriter
from gguf.quants import quantize

HERE = Path(__file__).parent
INTEGERS = {"uint8": 200, "int8": -100, "uint16": 60_000, "int16": -30_000, "uint32": 4_000_000_000,
            "int32": -2_000_000_000, "uint64": 2**63 + 1, "int64": -(2**62)}


def write_gguf(path):
    rng = np.random.default_rng(20)
    writer = GGUFWriter(path, "llama")
    writer.add_custom_alignment(64)
    for name, value in INTEGERS.items():
        getattr(writer, f"add_{name}")(f"scalar.{name}", value)
    writer.add_float32("scalar.float32", 1e-5)
    writer.add_float64("scalar.float64", 0.1)
    writer.add_bool("scalar.yes", True)
    writer.add_bool("scalar.no", False)
    writer.add_string("scalar.string", "Größe \u4f60\U0001f600\n\x1b[0m")
    writer.add_array("array.string", ["", "a", "Ġthe", "\U0001f600"])
    writer.add_array("array.int32", [1, -2, 3])
    writer.add_array("array.float32", [0.5, -0.25, 3.0e38])
    writer.add_array("array.bool", [True, False, True])
    writer.add_array("array.long", [f"token {n}" for n in range(40)])
    weights = rng.standard_normal((6, 64), dtype=np.float32)
    writer.add_tensor("f32.weight", weights)
    writer.add_tensor("f16.weight", weights.astype(np.float16))
    writer.add_tensor("cube.weight", weights.reshape(2, 3, 64))
    writer.add_tensor("norm.weight", weights[0, :3].copy())
    for kind in (Type.BF16, Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.Q8_0):
        name = f"{kind.name.lower()}.weight"
        writer.add_tensor(name, quantize(weights, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def read_gguf(path):
    reader = GGUFReader(path)
    metadata, tensors = [], []
    for key, field in reader.fields.items():
        if key.startswith("GGUF."):
            continue
        metadata.append({
            "key": key,
            "type": " of ".join(GGUFValueType(t).name.lower() for t in field.types),
            "value": field.contents(),
            "offset": int(field.offset + sum(part.nbytes for part in field.parts[:3])),
            "bytes": int(sum(part.nbytes for part in field.parts[3:])),
        })
    for tensor in reader.tensors:
        tensors.append({
            "name": tensor.name,
            "format": tensor.tensor_type.name,
            "shape": [int(extent) for extent in tensor.shape],
            "offset": int(tensor.data_offset),
            "bytes": int(tensor.n_bytes),
            "sha256": hashlib.sha256(tensor.data.tobytes()).hexdigest(),
        })
    return {"version": int(reader.fields["GGUF.version"].contents()), "alignment": int(reader.alignment),
            "data_offset": int(reader.data_offset), "metadata": metadata, "tensors": tensors}


def write_safetensors(path, names, notes):
    rng = np.random.default_rng(len(names))
    specs, kept = {}, []
    for name, dtype, width, shape in names:
        data = np.frombuffer(rng.bytes(int(np.prod(shape)) * width), dtype=np.uint8)
        kept.append(data)
        specs[name] = safetensors.TensorSpec(
            dtype=dtype, shape=list(shape), data_ptr=data.ctypes.data, data_len=data.nbytes)
    path.write_bytes(safetensors.serialize(specs, notes))
    return read_safetensors(path)


def read_safetensors(path):
    content = path.read_bytes()
    return [{"name": name, "format": tensor["dtype"], "shape": tensor["shape"], "bytes": len(tensor["data"]),
             "sha256": hashlib.sha256(bytes(tensor["data"])).hexdigest()}
            for name, tensor in sorted(safetensors.deserialize(content))]


def main():
    write_gguf(HERE / "kinds.gguf")
    expected = {"gguf": read_gguf(HERE / "kinds.gguf")}

    first = [("embed.weight", "bfloat16", 2, (5, 8)), ("norm.weight", "float32", 4, (8,))]
    second = [("head.weight", "float16", 2, (5, 8)), ("scale", "float32", 4, ())]
    expected["single"] = write_safetensors(HERE / "single.safetensors", first + second, {"format": "pt"})
    folder = HERE / "sharded"
    folder.mkdir(exist_ok=True)
    shards = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    expected["sharded"] = []
    weight_map = {}
    for shard, names in zip(shards, (first, second)):
        expected["sharded"] += write_safetensors(folder / shard, names, {"format": "pt"})
        weight_map |= {name: shard for name, *_ in names}
    total = sum(tensor["bytes"] for tensor in expected["sharded"])
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n")
    (HERE / "expected.json").write_text(json.dumps(expected, indent=1, ensure_ascii=True) + "\n")


main()
