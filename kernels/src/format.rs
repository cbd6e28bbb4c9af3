//! The weight formats by name: sizes, ggml type ids, and the scalar way back to f32.

use crate::error::{Error, Result, expect_len};
use crate::formats::{FORMATS, FormatSpec};

/// A storage format of weights: dense floats, or blocks of small integers with their scales.
///
/// Everything about a format is in its one file under `formats/`; this is its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// IEEE binary32.
    F32,
    /// IEEE binary16.
    F16,
    /// The upper half of binary32.
    Bf16,
    /// 32 weights of 4 bits around zero, one scale.
    Q4_0,
    /// 32 weights of 4 bits above a minimum, scale and minimum.
    Q4_1,
    /// 32 weights of 5 bits around zero, one scale.
    Q5_0,
    /// 32 weights of 5 bits above a minimum, scale and minimum.
    Q5_1,
    /// 32 weights of 8 bits, one scale.
    Q8_0,
    /// 256 weights of 2 bits in 16 groups, 4-bit scales and minimums.
    Q2K,
    /// 256 weights of 3 bits in 16 groups, 6-bit scales.
    Q3K,
    /// 256 weights of 4 bits in 8 groups, 6-bit scales and minimums.
    Q4K,
    /// 256 weights of 5 bits in 8 groups, 6-bit scales and minimums.
    Q5K,
    /// 256 weights of 6 bits in 16 groups, 8-bit scales.
    Q6K,
}

impl Format {
    /// Every format, in the order of [`FORMATS`].
    pub const ALL: [Format; FORMATS.len()] = {
        let mut all = [Format::F32; FORMATS.len()];
        let mut i = 0;
        while i < all.len() {
            all[i] = FORMATS[i].format;
            i += 1;
        }
        all
    };

    /// The registry entry: sizes and kernels.
    pub fn spec(self) -> &'static FormatSpec {
        FORMATS[self as usize]
    }

    /// The name that GGUF tools print, such as `Q4_1` or `Q6_K`.
    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// The id in a GGUF tensor header.
    pub fn ggml_type(self) -> u32 {
        self.spec().ggml_type
    }

    /// The format with this id in a GGUF tensor header.
    pub fn from_ggml_type(id: u32) -> Result<Format> {
        FORMATS.iter().find(|spec| spec.ggml_type == id).map(|spec| spec.format).ok_or_else(|| {
            let known = FORMATS.iter().map(|spec| spec.name).collect::<Vec<_>>().join(", ");
            Error::UnknownType { id, known }
        })
    }

    /// The format with this name, in any case.
    pub fn from_name(name: &str) -> Option<Format> {
        FORMATS.iter().find(|spec| spec.name.eq_ignore_ascii_case(name)).map(|spec| spec.format)
    }

    /// Values in one block (1 for dense formats).
    pub fn block_len(self) -> usize {
        self.spec().block_len
    }

    /// Bytes of one block.
    pub fn block_bytes(self) -> usize {
        self.spec().block_bytes
    }

    /// Bytes of a row of `cols` values; an error where they do not fill whole blocks.
    pub fn row_bytes(self, cols: usize) -> Result<usize> {
        let block_len = self.block_len();
        if !cols.is_multiple_of(block_len) {
            return Err(Error::RaggedRow { format: self, cols, block_len });
        }
        (cols / block_len).checked_mul(self.block_bytes()).ok_or(Error::TooLarge { rows: 1, cols })
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Writes the f32 values of one row of blocks, `bytes`, to `out` (one value a column).
///
/// Every operation is rounded on its own, as in llama.cpp's `dequantize_row_*` (which its embedding lookup runs).
pub fn dequantize_row(format: Format, bytes: &[u8], out: &mut [f32]) -> Result<()> {
    expect_len("the row", "bytes", format.row_bytes(out.len())?, bytes.len())?;
    (format.spec().dequantize)(bytes, out);
    Ok(())
}
