//! Reference quantisers: f32 values to blocks of a weight format.

use crate::error::{Result, expect_len};
use crate::format::Format;

/// Quantises `x` to the blocks of `format`.
///
/// F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1 and Q8_0 give the bytes of ggml's `quantize_row_*_ref`. The K formats are a plain
/// rounding to each group's range: valid blocks, but without ggml's search for better scales, so other bytes than
/// `llama-quantize` writes.
pub fn quantize_row(format: Format, x: &[f32], bytes: &mut [u8]) -> Result<()> {
    expect_len("the quantised row", "bytes", format.row_bytes(x.len())?, bytes.len())?;
    (format.spec().quantize)(x, bytes);
    Ok(())
}
