//! The chunks of a text for an oracle that answers log-probabilities of ids, cut as llama-perplexity cuts them.

use super::Client;
use super::answer::Fault;
use crate::verbs::{ScoredChunk, VerbError};

/// Tokens of a chunk before the first position that is scored.
fn first_scored(context: usize) -> usize {
    context / 2
}

/// The token that the vocabulary puts before every text, where it does.
pub(super) fn bos<C: Client + ?Sized>(client: &mut C) -> Result<Option<u32>, VerbError> {
    Ok(client.tokenize("", true, false)?.first().copied())
}

/// `text` in chunks of `context` tokens, each with BOS in the place of its first token where the vocabulary adds one.
/// `None` where the protocol answers no rows.
pub(super) fn by_rows<C: Client + ?Sized>(
    client: &mut C,
    text: &str,
    context: usize,
) -> Option<Result<Vec<ScoredChunk>, VerbError>> {
    let chunks = match chunks(client, text, context) {
        Ok(chunks) => chunks,
        Err(error) => return Some(Err(error)),
    };
    let mut scored = Vec::with_capacity(chunks.len());
    for ids in chunks {
        match client.rows(&ids)? {
            Ok(mut rows) => {
                // Behind the last token nothing follows.
                rows.truncate(ids.len() - 1);
                let rows = rows.split_off(first_scored(context).min(rows.len()));
                scored.push(ScoredChunk { ids, rows });
            }
            Err(error) => return Some(Err(error)),
        }
    }
    Some(Ok(scored))
}

fn chunks<C: Client + ?Sized>(
    client: &mut C,
    text: &str,
    context: usize,
) -> Result<Vec<Vec<u32>>, VerbError> {
    let bos = bos(client)?;
    let ids = client.tokenize(text, true, false)?;
    let mut chunks: Vec<Vec<u32>> = ids.chunks_exact(context).map(<[u32]>::to_vec).collect();
    for chunk in &mut chunks {
        if let (Some(first), Some(bos)) = (chunk.first_mut(), bos) {
            *first = bos;
        }
    }
    Ok(chunks)
}

/// The log-softmax of each row of `logits`, rows of `width`, computed in f64.
pub(super) fn log_softmax(logits: &[f32], width: usize) -> Vec<Vec<f32>> {
    let row = |row: &[f32]| {
        let highest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = row.iter().map(|logit| f64::from(logit - highest).exp()).sum();
        let normaliser = f64::from(highest) + sum.ln();
        row.iter().map(|logit| (f64::from(*logit) - normaliser) as f32).collect()
    };
    logits.chunks_exact(width.max(1)).map(row).collect()
}

/// The tensor `logits` of a safetensors file: its values and the length of a row.
pub(super) fn logits(bytes: &[u8]) -> Result<(Vec<f32>, usize), Fault> {
    use safetensors::{Dtype, SafeTensors};
    let bad = |expected: &str, found: String| Fault::new("logits", expected, found);
    let file = SafeTensors::deserialize(bytes);
    let file = file.map_err(|error| bad("a safetensors file", error.to_string()))?;
    let tensor = file.tensor("logits").map_err(|error| bad("a tensor", error.to_string()))?;
    let &[_, width] = tensor.shape() else {
        return Err(bad("rows", format!("{:?}", tensor.shape())));
    };
    let data = tensor.data();
    let values = match tensor.dtype() {
        Dtype::F32 => data.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect(),
        // The upper half of an f32.
        Dtype::BF16 => data
            .as_chunks()
            .0
            .iter()
            .map(|bytes| f32::from_bits(u32::from(u16::from_le_bytes(*bytes)) << 16))
            .collect(),
        other => return Err(bad("F32 or BF16", format!("{other:?}"))),
    };
    Ok((values, width))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: of two equal logits each has a half, whatever they are.
    #[test]
    fn the_log_softmax_of_equals_is_their_share() {
        let rows = log_softmax(&[7.0, 7.0, 0.0, f32::ln(3.0)], 2);
        let expected = [[0.5_f32, 0.5], [0.25, 0.75]];
        for (row, expected) in rows.iter().zip(expected) {
            for (logprob, probability) in row.iter().zip(expected) {
                assert!((logprob - probability.ln()).abs() <= 1e-6, "{logprob}");
            }
        }
    }

    #[test]
    fn a_bfloat16_is_the_upper_half_of_a_float() {
        let bits: Vec<u8> = [0x3f80_u16, 0xc000].iter().flat_map(|b| b.to_le_bytes()).collect();
        let view =
            safetensors::tensor::TensorView::new(safetensors::Dtype::BF16, vec![1, 2], &bits);
        let file = safetensors::serialize([("logits", view.unwrap())], None).unwrap();
        let (values, width) = logits(&file).unwrap();
        assert_eq!(
            (values[0].to_bits(), values[1].to_bits()),
            (1.0_f32.to_bits(), (-2.0_f32).to_bits())
        );
        assert_eq!(width, 2);
        assert_eq!(logits(b"no").unwrap_err().key, "logits");
    }
}
