//! The operations by name: their inputs and constants, checked, and the one call that computes each.

use kernels::ops::Pairs;
use kernels::{Format, Matrix};
use safetensors::tensor::Dtype;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::cli::CliError;
use crate::cli::tensors::{NewTensor, StoredTensor, TensorFile};
use crate::config::{RopeConfig, RopeScaling};
use crate::hidden::Hidden;
use crate::kv::{BlockSize, Store};
use crate::numerics::{Context, HeadShape, Numerics};
use crate::sampler::first_maximum;

/// What an operation is computed from, and by whom.
pub(super) struct Operand<'f> {
    pub(super) file: &'f TensorFile,
    /// The constants, a JSON object.
    pub(super) args: &'f str,
    pub(super) numerics: Box<dyn Numerics>,
}

/// `{}`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoArgs {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NormArgs {
    eps: f32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RopeArgs {
    base: f32,
    /// Width of a head.
    dim: usize,
    pairs: PairsArg,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum PairsArg {
    Halves,
    Adjacent,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AttentionArgs {
    heads: usize,
    key_value_heads: usize,
    /// Width of a head.
    dim: usize,
    /// Positions before the first query.
    past: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WeightArgs {
    /// The block format of a weight that is stored as bytes, such as `Q8_0`.
    weight_format: Option<String>,
}

type Output = (&'static str, NewTensor);

impl<'f> Operand<'f> {
    /// Computes the operation of that name: the name of its output, and the output.
    pub(super) fn compute(&mut self, name: &str) -> Result<Output, CliError> {
        match name {
            "add" => self.add(),
            "argmax" => self.argmax(),
            "attention" => self.attention(),
            "embedding" => self.embedding(),
            "linear" => self.linear(),
            "rms-norm" => self.rms_norm(),
            "rope" => self.rope(),
            "silu-mul" => self.silu_mul(),
            _ => Err(argument("NAME", format!("there is no operation {name:?}"))),
        }
    }

    fn add(&mut self) -> Result<Output, CliError> {
        self.args::<NoArgs>()?;
        let [x, y] = self.same_shape(["x", "y"])?;
        Ok(output(&self.numerics.add(x, &y)))
    }

    fn silu_mul(&mut self) -> Result<Output, CliError> {
        self.args::<NoArgs>()?;
        let [gate, up] = self.same_shape(["gate", "up"])?;
        Ok(output(&self.numerics.silu_mul(&gate, &up)))
    }

    fn argmax(&mut self) -> Result<Output, CliError> {
        self.args::<NoArgs>()?;
        let logits = self.rows("logits")?;
        let rows = logits.values().chunks_exact(logits.width());
        Ok(("ids", NewTensor::ids(&rows.map(first_maximum).collect::<Vec<_>>())))
    }

    fn rms_norm(&mut self) -> Result<Output, CliError> {
        let NormArgs { eps } = self.args()?;
        let (x, weight) = (self.rows("x")?, self.file.floats("weight")?);
        if weight.is_empty() || !x.width().is_multiple_of(weight.len()) {
            let fault = format!("has {} values, expected a divisor of {}", weight.len(), x.width());
            return Err(self.file.bad("weight", fault));
        }
        Ok(output(&self.numerics.rms_norm(&weight, eps, &x)))
    }

    fn rope(&mut self) -> Result<Output, CliError> {
        let RopeArgs { base, dim, pairs } = self.args()?;
        let mut x = self.rows("x")?;
        let positions = self.file.ids("positions")?;
        if dim == 0 || !dim.is_multiple_of(2) || !x.width().is_multiple_of(dim) {
            return Err(argument(
                "--args",
                format!("dim {dim} is no even divisor of {}", x.width()),
            ));
        }
        if positions.len() != x.rows() {
            let fault = format!("has {} values, expected {}", positions.len(), x.rows());
            return Err(self.file.bad("positions", fault));
        }
        let pairs = match pairs {
            PairsArg::Halves => Pairs::Halves,
            PairsArg::Adjacent => Pairs::Adjacent,
        };
        let rope = RopeConfig { base, pairs, scaling: RopeScaling::None };
        let positions: Vec<usize> = positions.iter().map(|&position| position as usize).collect();
        let table = self.numerics.rotary(&rope, dim, &positions);
        self.numerics.rotate(&table, &mut x);
        Ok(output(&x))
    }

    fn attention(&mut self) -> Result<Output, CliError> {
        let AttentionArgs { heads, key_value_heads, dim, past } = self.args()?;
        if dim == 0 || key_value_heads == 0 || !heads.is_multiple_of(key_value_heads) || heads == 0
        {
            let fault = "heads is a multiple of key_value_heads, and dim is positive".to_owned();
            return Err(argument("--args", fault));
        }
        let query = self.rows("query")?;
        let [key, value] = [self.rows("key")?, self.rows("value")?];
        for (name, found, width) in [
            ("query", &query, heads * dim),
            ("key", &key, key_value_heads * dim),
            ("value", &value, key_value_heads * dim),
        ] {
            let rows = if name == "query" { query.rows() } else { past + query.rows() };
            self.expect_shape(name, found, [rows, width])?;
        }
        let size = BlockSize::DEFAULT;
        let table: Vec<u32> = (0..size.blocks_for(key.rows()) as u32).collect();
        let format = self.numerics.cache_format();
        let mut store = Store::new(format, 1, key.width(), size, table.len());
        store.write(0, &table, 0, key.values(), value.values());
        let context = Context { cache: store.layer(0, &table), first: past };
        let shape = HeadShape { heads, key_value_heads, dim };
        Ok(output(&self.numerics.attend(&query, &[context], shape)))
    }

    fn linear(&mut self) -> Result<Output, CliError> {
        let WeightArgs { weight_format } = self.args()?;
        let x = self.rows("x")?;
        let file = self.file;
        let weight = self.matrix(weight_format.as_deref())?;
        if weight.cols() != x.width() {
            let fault = format!("has {} columns, expected {}", weight.cols(), x.width());
            return Err(file.bad("weight", fault));
        }
        let bias = file.find("bias").map(|_| file.floats("bias")).transpose()?;
        if let Some(bias) = bias.as_ref().filter(|bias| bias.len() != weight.rows()) {
            let fault = format!("has {} values, expected {}", bias.len(), weight.rows());
            return Err(file.bad("bias", fault));
        }
        Ok(output(&self.numerics.linear(&weight, bias.as_deref(), &x, 1)))
    }

    fn embedding(&mut self) -> Result<Output, CliError> {
        let WeightArgs { weight_format } = self.args()?;
        let ids = self.file.ids("ids")?;
        let table = self.matrix(weight_format.as_deref())?;
        if let Some(id) = ids.iter().find(|&&id| id as usize >= table.rows()) {
            let fault = format!("holds {id}, and there are {} rows", table.rows());
            return Err(self.file.bad("ids", fault));
        }
        Ok(output(&self.numerics.embed(&table, &ids)))
    }

    fn args<T: DeserializeOwned>(&self) -> Result<T, CliError> {
        serde_json::from_str(self.args).map_err(|error| argument("--args", error.to_string()))
    }

    fn rows(&self, name: &str) -> Result<Hidden, CliError> {
        let (width, values) = self.file.rows(name)?;
        let mut hidden = Hidden::zeros(values.len() / width, width);
        hidden.values_mut().copy_from_slice(&values);
        Ok(hidden)
    }

    fn same_shape(&self, names: [&str; 2]) -> Result<[Hidden; 2], CliError> {
        let [x, y] = [self.rows(names[0])?, self.rows(names[1])?];
        self.expect_shape(names[1], &y, [x.rows(), x.width()])?;
        Ok([x, y])
    }

    fn expect_shape(&self, name: &str, found: &Hidden, shape: [usize; 2]) -> Result<(), CliError> {
        let is = [found.rows(), found.width()];
        if is == shape {
            return Ok(());
        }
        Err(self.file.bad(name, format!("has shape {is:?}, expected {shape:?}")))
    }

    /// The weight: dense floats, or blocks of the named format as bytes.
    fn matrix(&self, named: Option<&str>) -> Result<Matrix<'f>, CliError> {
        let bad = |fault: String| self.file.bad("weight", fault);
        let StoredTensor { dtype, shape, bytes } = self.file.tensor("weight")?;
        let format = match (dtype, named) {
            (Dtype::F32, None) => Format::F32,
            (Dtype::BF16, None) => Format::Bf16,
            (Dtype::F16, None) => Format::F16,
            (Dtype::U8, Some(name)) => Format::from_name(name)
                .ok_or_else(|| argument("--args", format!("there is no format {name:?}")))?,
            (dtype, _) => {
                let expected = "floats, or U8 and the name of its format";
                return Err(bad(format!("is {dtype:?}, expected {expected}")));
            }
        };
        let &[rows, row] = shape.as_slice() else {
            return Err(bad(format!("has shape {shape:?}, expected two extents")));
        };
        let columns =
            if *dtype == Dtype::U8 { row / format.block_bytes() * format.block_len() } else { row };
        Matrix::new(format, rows, columns, bytes).map_err(|error| bad(error.to_string()))
    }
}

fn output(hidden: &Hidden) -> Output {
    ("out", NewTensor::floats(vec![hidden.rows(), hidden.width()], hidden.values()))
}

fn argument(name: &'static str, fault: String) -> CliError {
    CliError::Argument { name, fault }
}
