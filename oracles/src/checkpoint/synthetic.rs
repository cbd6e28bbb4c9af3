//! Random weights for an architecture: the same bytes everywhere, loadable by any oracle.
//!
//! The generator is counter based and made of integer arithmetic; the only floating-point
//! operations are conversions, one multiplication and one rounding, all exactly defined by
//! IEEE 754. No library function decides a bit.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde_json::{Value, json};

use super::{CheckpointError, CheckpointSpec, SyntheticSource};
use crate::digest::{Hasher, sha256_bytes};
use crate::place::{self, PlaceError};
use crate::progress::{Progress, Stage};
use crate::spec::SpecError;

mod architecture;
mod tokenizer;

use architecture::{Kind, Tensor};

/// The weights' file.
pub(super) const WEIGHTS: &str = "model.safetensors";

/// Refuses an architecture that cannot be made.
pub(super) fn check(path: &Path, source: &SyntheticSource) -> Result<(), SpecError> {
    if !(source.std.is_finite() && source.std > 0.0) {
        let found = source.std.to_string();
        return Err(SpecError::value(path, "synthetic.std", "a positive number", &found));
    }
    architecture::tensors(path, &source.config).map(|_| ())
}

/// The small files beside the weights: names and bytes.
pub(super) fn companions(
    spec: &CheckpointSpec,
    source: &SyntheticSource,
) -> Vec<(&'static str, Vec<u8>)> {
    let config = Value::Object(source.config.clone());
    let generation = json!({
        "bos_token_id": tokenizer::END_OF_TEXT,
        "eos_token_id": [tokenizer::END_OF_TEXT, tokenizer::IM_END],
        "do_sample": false,
    });
    let card = format!("{}\n\nlicence: {}\n", spec.summary, spec.licence);
    let pretty = |value: &Value| format!("{value:#}\n").into_bytes();
    vec![
        ("config.json", pretty(&config)),
        ("generation_config.json", pretty(&generation)),
        ("tokenizer.json", pretty(&tokenizer::tokenizer())),
        ("tokenizer_config.json", pretty(&tokenizer::tokenizer_config())),
        ("README.md", card.into_bytes()),
    ]
}

/// Writes the checkpoint into `dir`; the weights last and only when their digest is the pinned one.
pub(super) fn write(
    spec: &CheckpointSpec,
    source: &SyntheticSource,
    dir: &Path,
    progress: Progress,
) -> Result<(), CheckpointError> {
    for (name, bytes) in companions(spec, source) {
        place::write_whole(&dir.join(name), &bytes)?;
    }
    let path = dir.join(WEIGHTS);
    let fail = |error| PlaceError::new("write", &path, error);
    let mut partial = place::temporary(dir).map_err(fail)?;
    let tensors = architecture::tensors(&spec.path, &source.config)
        .map_err(|error| PlaceError::new("write", &path, std::io::Error::other(error)))?;
    let total = tensors.iter().map(Tensor::bytes).sum();
    let mut stage = progress.bytes(&format!("generating {}", spec.name), Some(total));
    let found = write_hashed(partial.as_file_mut(), &tensors, source, &mut stage).map_err(fail)?;
    partial.as_file().sync_all().map_err(fail)?;
    if found != source.sha256 {
        let aside = place::beside(&path, ".refused");
        partial.persist(&aside).map_err(|e| fail(e.error))?;
        let (expected, aside) = (source.sha256.clone(), Some(aside));
        return Err(CheckpointError::Hash { path, expected, found, aside });
    }
    partial.persist(&path).map_err(|e| fail(e.error))?;
    Ok(())
}

/// Writes the weights to `file`; their digest.
fn write_hashed(
    file: &mut File,
    tensors: &[Tensor],
    source: &SyntheticSource,
    stage: &mut Stage,
) -> std::io::Result<String> {
    let mut out = Hashed { file: BufWriter::new(file), hasher: Hasher::default() };
    write_weights(&mut out, tensors, source, stage)?;
    out.file.flush()?;
    Ok(out.hasher.finish().0)
}

struct Hashed<W> {
    file: W,
    hasher: Hasher,
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

/// The safetensors format: an 8-byte length, a JSON header padded to 8 bytes, the tensors.
fn write_weights(
    out: &mut impl Write,
    tensors: &[Tensor],
    source: &SyntheticSource,
    stage: &mut Stage,
) -> std::io::Result<()> {
    let mut header = serde_json::Map::new();
    header.insert("__metadata__".to_owned(), json!({"format": "pt"}));
    let mut begin = 0;
    for tensor in tensors {
        let end = begin + tensor.bytes();
        let entry = json!({"dtype": "BF16", "shape": tensor.shape, "data_offsets": [begin, end]});
        header.insert(tensor.name.clone(), entry);
        begin = end;
    }
    let mut header = Value::Object(header).to_string();
    while !header.len().is_multiple_of(8) {
        header.push(' ');
    }
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(header.as_bytes())?;
    for tensor in tensors {
        let key = stream_key(source.seed, &tensor.name);
        let mut row = Vec::with_capacity(2 << 12);
        for index in 0..tensor.elements() {
            let noise = approximately_normal(key, index);
            let value = match tensor.kind {
                Kind::Matrix => noise * source.std,
                // Scales of norms spread around one, so that an engine that drops them is seen.
                Kind::Scale => 1.0 + noise / 8.0,
            };
            row.extend_from_slice(&bf16_bits(value).to_le_bytes());
            if row.len() == 2 << 12 {
                out.write_all(&row)?;
                stage.advance(row.len() as u64);
                row.clear();
            }
        }
        out.write_all(&row)?;
        stage.advance(row.len() as u64);
    }
    Ok(())
}

/// The key of a tensor's stream: the first 8 bytes of the sha256 of `SEED/NAME`, big endian.
fn stream_key(seed: u64, name: &str) -> u64 {
    let digest = sha256_bytes(format!("{seed}/{name}").as_bytes());
    u64::from_str_radix(&digest[..16], 16).unwrap_or(seed)
}

/// SplitMix64's output function at `counter` (Steele, Lea, Flood: "Fast Splittable Pseudorandom
/// Number Generators", OOPSLA 2014, with the constants of Vigna's reference implementation).
fn splitmix64(key: u64, counter: u64) -> u64 {
    let z = key.wrapping_add((counter.wrapping_add(1)).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Mean 0, variance 1 to ten digits, within plus or minus 6: the sum of twelve uniform 16-bit
/// integers (Irwin-Hall), centred, over 2^16. Every step is exact.
fn approximately_normal(key: u64, index: u64) -> f64 {
    const MEAN: i64 = 12 * 65_535 / 2;
    let sum: u64 = (0..3)
        .map(|part| {
            let bits = splitmix64(key, index * 3 + part);
            (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48)
        })
        .sum();
    (sum as i64 - MEAN) as f64 / 65_536.0
}

/// `value` rounded to f32 and then to bf16, to nearest, ties to even.
fn bf16_bits(value: f64) -> u16 {
    let bits = (value as f32).to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1));
    (rounded >> 16) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs for seed 1234567 that Vigna's reference implementation prints.
    #[test]
    fn splitmix64_is_the_published_one() {
        let expected: [u64; 5] = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        let found: Vec<u64> = (0..5).map(|counter| splitmix64(1_234_567, counter)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn noise_is_centred_with_variance_one() {
        let n = 1 << 18;
        let values: Vec<f64> = (0..n).map(|index| approximately_normal(7, index)).collect();
        let mean = values.iter().sum::<f64>() / n as f64;
        let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n as f64;
        // Standard errors: 1/sqrt(n) = 0.002 for the mean, about 0.0027 for the variance.
        assert!(mean.abs() <= 0.01, "{mean}");
        assert!((variance - 1.0).abs() <= 0.015, "{variance}");
        assert!(values.iter().all(|value| value.abs() <= 6.0));
    }

    /// Hand arithmetic: 1 is 0x3f80; halfway cases go to the even neighbour.
    #[test]
    fn bf16_rounds_to_even() {
        assert_eq!(bf16_bits(1.0), 0x3f80);
        assert_eq!(bf16_bits(-2.0), 0xc000);
        assert_eq!(bf16_bits(1.0 + 1.0 / 256.0), 0x3f80);
        assert_eq!(bf16_bits(1.0 + 3.0 / 256.0), 0x3f82);
        assert_eq!(bf16_bits(1.0 + 1.1 / 256.0), 0x3f81);
    }
}
