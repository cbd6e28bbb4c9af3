//! Causal self-attention with grouped query heads (Ainslie et al. 2023) and rotary positions.

use super::{Linear, Pass, RmsNorm};
use crate::config::ModelConfig;
use crate::hidden::Hidden;
use crate::numerics::{Context, HeadShape};
use crate::weights::{Role, WeightError, Weights};

/// The attention of one layer.
#[derive(Debug)]
pub struct Attention<'a> {
    query: Linear<'a>,
    key: Linear<'a>,
    value: Linear<'a>,
    output: Linear<'a>,
    /// Norms on every query head, and on every key head, before the rotation.
    query_norm: Option<RmsNorm>,
    key_norm: Option<RmsNorm>,
    shape: HeadShape,
}

impl<'a> Attention<'a> {
    /// The four projections; no norms on heads.
    pub fn load(weights: &mut Weights<'a>, config: &ModelConfig) -> Result<Self, WeightError> {
        let (heads, key_values) = (config.query_width(), config.key_value_width());
        let mut linear = |role, outputs, inputs| {
            Linear::load_biased(weights, role, outputs, inputs, config.attention_bias)
        };
        Ok(Self {
            query: linear(Role::Query, heads, config.hidden)?,
            key: linear(Role::Key, key_values, config.hidden)?,
            value: linear(Role::Value, key_values, config.hidden)?,
            output: linear(Role::AttentionOutput, config.hidden, heads)?,
            query_norm: None,
            key_norm: None,
            shape: HeadShape {
                heads: config.heads,
                key_value_heads: config.key_value_heads,
                dim: config.head_dim,
            },
        })
    }

    /// The same with a norm on every query head and one on every key head.
    #[must_use]
    pub fn with_head_norms(self, query: RmsNorm, key: RmsNorm) -> Self {
        Self { query_norm: Some(query), key_norm: Some(key), ..self }
    }

    /// Keeps the batch's keys and values and attends from every row.
    pub fn forward(&self, pass: &mut Pass<'_>, x: &Hidden) -> Hidden {
        let query = self.query.forward(pass, x);
        let mut query = position(pass, query, self.query_norm.as_ref());
        pass.tap("query", &mut query);
        let key = self.key.forward(pass, x);
        let mut key = position(pass, key, self.key_norm.as_ref());
        pass.tap("key", &mut key);
        let mut value = self.value.forward(pass, x);
        pass.tap("value", &mut value);
        let sequences = pass.tables.iter().zip(pass.batch.firsts);
        let added = pass.batch.rows_each() * key.width();
        let rows = key.values().chunks_exact(added).zip(value.values().chunks_exact(added));
        for ((table, &first), (keys, values)) in sequences.clone().zip(rows) {
            pass.store.write(pass.layer, table, first, keys, values);
        }
        let contexts: Vec<Context<'_>> = sequences
            .map(|(table, &first)| Context { cache: pass.store.layer(pass.layer, table), first })
            .collect();
        let mut attended = pass.numerics.attend(&query, &contexts, self.shape);
        pass.tap("attended", &mut attended);
        self.output.forward(pass, &attended)
    }
}

/// Normalises the heads where there is a norm, and turns them to their position.
fn position(pass: &mut Pass<'_>, heads: Hidden, norm: Option<&RmsNorm>) -> Hidden {
    let mut heads = match norm {
        Some(norm) => norm.forward(pass, &heads),
        None => heads,
    };
    pass.numerics.rotate(&pass.rotary, &mut heads);
    heads
}
