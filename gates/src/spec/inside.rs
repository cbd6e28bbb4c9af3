//! The tables of the kinds that compare values inside the model with an oracle's, and what they demand of the rest of a spec.

use std::collections::{BTreeMap, BTreeSet};

use oracles::verbs::OpQuestion;
use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;

use super::{Because, Checks, NamedSpec, Spec, SpecError};
use crate::kind;
use crate::kind::inside::Inside;
use crate::workload::Workload;

/// The widest relative distance that a band may allow: 2^-5, eight units in the last place of every bfloat16.
const REL_RMS_CEILING: f64 = 1.0 / 32.0;

/// `[check.layers]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LayersCheck {
    /// Each layer computed from the oracle's own residual stream before it.
    pub isolated: Band,
    /// The whole model computed from the token ids.
    pub end_to_end: Band,
}

/// How far a value may lie from the oracle's.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Band {
    /// Relative root mean square of the difference, of the token where it is largest.
    pub rel_rms: RelRms,
    /// What it was derived from.
    pub source: BandOrigin,
    /// Why so far.
    pub because: Because,
}

/// What a band of values may be derived from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BandOrigin {
    /// Roundings to bfloat16 that fall the other way, because sums were taken in another order.
    Bf16Rounding,
    /// Sums of `f32` in another order.
    F32Order,
}

/// `[check.activation-fidelity]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FidelityCheck {
    /// Cases that are compared, each with the one whose known difference is the yardstick.
    pub edits: Vec<Edit>,
    /// Relative root mean square of the difference, over all tokens and over all but the first.
    pub rel_rms: RelRms,
    /// The smallest cosine of a token.
    pub cosine_min: Unit,
    /// The median angle by which a token is turned.
    pub rotation_degrees: Degrees,
    /// From which relative root mean square on a token counts as moved.
    pub moved_rel_rms: RelRms,
    /// Share of the tokens that may be moved.
    pub moved_share: Unit,
    /// Our distance, as a share of the distance that the edit makes.
    pub yardstick_share: Unit,
    /// Why these bounds.
    pub because: Because,
}

/// A case, and the same with one word edited; both have as many tokens. Each knows its place in the file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Edit {
    /// The case that both sides compute.
    pub case: Spanned<String>,
    /// The case that the oracle alone computes.
    pub edited: Spanned<String>,
}

impl Edit {
    /// Both cases, under their keys.
    pub fn cases(&self) -> [(&'static str, &Spanned<String>); 2] {
        [("case", &self.case), ("edited", &self.edited)]
    }
}

/// `[check.op-golden]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OpGoldenCheck {
    /// The operations, one table each.
    pub case: Vec<OpCase>,
}

/// `[[check.op-golden.case]]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OpCase {
    /// Unique name.
    pub id: String,
    /// The operation.
    pub op: String,
    /// The type of its activations.
    pub dtype: ActivationType,
    /// What decides the inputs' shapes alone.
    pub sizes: BTreeMap<String, Value>,
    /// Its constants.
    #[serde(default)]
    pub args: BTreeMap<String, Value>,
    /// The seed of its inputs.
    pub seed: u64,
    /// Allowed for every element: `atol + rtol * |want|`. Whole numbers are equal or they are not.
    pub atol: Tolerance,
    /// See `atol`.
    pub rtol: Tolerance,
    /// Why so much.
    pub because: Because,
}

/// The type of activations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ActivationType {
    /// 8 bits of exponent, 7 of fraction.
    Bfloat16,
    /// IEEE 754 binary32.
    Float32,
}

impl ActivationType {
    /// As PyTorch and `plumb op` name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bfloat16 => "bfloat16",
            Self::Float32 => "float32",
        }
    }
}

impl OpCase {
    /// The case as the oracle is asked.
    pub fn question(&self) -> OpQuestion {
        OpQuestion {
            op: self.op.clone(),
            dtype: self.dtype.name().to_owned(),
            sizes: self.sizes.clone(),
            args: self.args.clone(),
            seed: self.seed,
        }
    }
}

/// A number that a key can hold only within its bounds.
macro_rules! bounded {
    ($(#[$doc:meta])* $name:ident, $fits:expr, $expected:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Deserialize)]
        #[serde(try_from = "f64")]
        pub struct $name(pub f64);

        impl TryFrom<f64> for $name {
            type Error = &'static str;
            fn try_from(value: f64) -> Result<Self, Self::Error> {
                let fits: fn(f64) -> bool = $fits;
                if fits(value) { Ok(Self(value)) } else { Err($expected) }
            }
        }
    };
}

bounded!(
    /// A relative root mean square, above 0 and at most 2^-5.
    RelRms,
    |value| value > 0.0 && value <= REL_RMS_CEILING,
    "is above 0 and at most 0.03125, eight units in the last place of every bfloat16"
);
bounded!(
    /// A share or a cosine, from 0 to 1.
    Unit,
    |value| (0.0..=1.0).contains(&value),
    "is within 0 and 1"
);
bounded!(
    /// An angle from 0 to 10 degrees.
    Degrees,
    |value| (0.0..=10.0).contains(&value),
    "is within 0 and 10 degrees"
);
bounded!(
    /// A tolerance of an element, from 0 to 0.1.
    Tolerance,
    |value| (0.0..=0.1).contains(&value),
    "is within 0 and 0.1"
);

impl Checks {
    /// The kinds that compare values inside the model.
    pub fn inside(&self) -> Vec<Inside<'_>> {
        [
            self.layers.as_ref().map(Inside::Layers),
            self.activation_fidelity.as_ref().map(Inside::Fidelity),
            self.op_golden.as_ref().map(Inside::Ops),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// What a kind that compares values inside the model demands of the other keys.
pub(super) fn inconsistency(spec: &Spec) -> Option<&'static str> {
    let inside = spec.check.inside();
    let [check] = inside.as_slice() else {
        return Some(
            "[check] has several kinds that look inside the model: they are separate gates",
        );
    };
    if kind::names(spec).len() > 1 + usize::from(spec.check.budget.is_some()) {
        return Some(
            "[check] mixes a kind that looks inside the model with another: separate gates",
        );
    }
    if spec.oracle.is_none() || spec.checkpoint.is_none() || spec.profile.is_none() {
        return Some("`oracle`, `checkpoint` and `profile` are needed by this check");
    }
    if spec.generate.is_some() {
        return Some(
            "[generate] is not asked by this check, which generates nothing: take it away",
        );
    }
    if check.reads_inputs() != spec.inputs.is_some() {
        return Some(
            "`inputs` belongs to [check.layers] and [check.activation-fidelity], and they need it",
        );
    }
    empty_list(check)
}

/// Whether each case that [check.activation-fidelity] names is one of the gate's inputs: one that is not would be passed over.
pub fn names_its_inputs(gate: &NamedSpec, inputs: &Workload) -> Result<(), SpecError> {
    let edits = gate.spec.check.activation_fidelity.iter().flat_map(|check| &check.edits);
    for (key, case) in edits.flat_map(Edit::cases) {
        if inputs.cases.iter().any(|input| input.id == *case.get_ref()) {
            continue;
        }
        let before = gate.text.get(..case.span().start).unwrap_or_default();
        return Err(SpecError::NoSuchCase {
            gate: gate.name.clone(),
            line: 1 + before.matches('\n').count(),
            key,
            found: case.get_ref().clone(),
            known: inputs.cases.iter().map(|input| input.id.clone()).collect(),
        });
    }
    Ok(())
}

/// A list that would make the comparison vacuous, or ambiguous.
fn empty_list(check: &Inside<'_>) -> Option<&'static str> {
    match check {
        Inside::Fidelity(check) if check.edits.is_empty() => {
            Some("[check.activation-fidelity] edits names at least one case")
        }
        Inside::Fidelity(check) => {
            let pair = |edit: &Edit| (edit.case.get_ref().clone(), edit.edited.get_ref().clone());
            let pairs: BTreeSet<_> = check.edits.iter().map(pair).collect();
            (pairs.len() < check.edits.len())
                .then_some("[check.activation-fidelity] edits names a pair of cases twice")
        }
        Inside::Ops(check) if check.case.is_empty() => {
            Some("[check.op-golden] has at least one [[check.op-golden.case]]")
        }
        Inside::Ops(check) => {
            let ids: BTreeSet<&str> = check.case.iter().map(|case| case.id.as_str()).collect();
            (ids.len() < check.case.len()).then_some("[check.op-golden] has two cases of one id")
        }
        Inside::Layers(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::names_its_inputs;
    use crate::spec::{NamedSpec, parse};
    use crate::workload::{Case, Input, Workload};

    const HEAD: &str = "summary = \"s\"\noracle = \"o\"\ncheckpoint = \"c\"\nprofile = \"p\"\n";

    /// What a spec of these lines is refused with.
    fn refused(lines: &str) -> String {
        let text = format!("{HEAD}{lines}");
        parse(&text, Path::new("a.toml"))
            .map_or_else(|error| error.to_string(), |_| "accepted".to_owned())
    }

    fn layers(rel_rms: &str) -> String {
        let band =
            format!("{{ rel-rms = {rel_rms}, source = \"bf16-rounding\", because = \"b\" }}");
        format!("inputs = \"i\"\n[check.layers]\nisolated = {band}\nend-to-end = {band}\n")
    }

    fn op(id: &str, tolerances: &str) -> String {
        format!(
            "[[check.op-golden.case]]\nid = \"{id}\"\nop = \"add\"\ndtype = \"float32\"\nsizes = {{ rows = 1 }}\nseed = 1\n\
             {tolerances}\n"
        )
    }

    const TOLERANCES: &str = "atol = 0.0\nrtol = 0.0\nbecause = \"b\"";

    #[test]
    fn tables_that_fit_are_accepted() {
        assert_eq!(refused(&layers("4e-3")), "accepted");
        assert_eq!(refused(&op("a", TOLERANCES)), "accepted");
    }

    #[test]
    fn a_bound_is_bounded_and_has_a_reason() {
        assert!(refused(&layers("0.5")).contains("at most 0.03125"));
        assert!(refused(&layers("0.0")).contains("above 0"));
        assert!(refused(&layers("nan")).contains("above 0"));
        assert!(
            refused(&op("a", "atol = 0.0\nrtol = 0.5\nbecause = \"b\""))
                .contains("within 0 and 0.1")
        );
        assert!(refused(&op("a", "atol = 0.0\nrtol = 0.0")).contains("because"));
        assert!(
            refused(&op("a", "atol = 0.0\nrtol = 0.0\nbecause = \" \""))
                .contains("cannot be blank")
        );
    }

    fn fidelity(edits: &str) -> String {
        format!(
            "inputs = \"i\"\n[check.activation-fidelity]\nedits = [\n{edits}]\nrel-rms = 4e-3\ncosine-min = 0.9999\n\
             rotation-degrees = 0.1\nmoved-rel-rms = 4e-3\nmoved-share = 0.1\nyardstick-share = 0.01\nbecause = \"b\"\n"
        )
    }

    /// The second edit stands in line 9 of the file: four lines of head, the inputs, the table, the key, and one edit.
    #[test]
    fn a_case_that_is_no_input_is_an_error_at_its_line() {
        let inputs = |ids: &[&str]| Workload {
            sha256: String::new(),
            cases: ids.iter().map(|id| case(id)).collect(),
        };
        let edits = "{ case = \"a\", edited = \"b\" },\n{ case = \"c\", edited = \"d\" },\n";
        let text = format!("{HEAD}{}", fidelity(edits));
        let spec = parse(&text, Path::new("a.toml")).unwrap();
        let gate = NamedSpec { name: "a".into(), sha256: String::new(), text, spec };
        assert!(names_its_inputs(&gate, &inputs(&["a", "b", "c", "d", "e"])).is_ok());
        for (ids, key, missing) in
            [(["a", "b", "d"], "case", "c"), (["a", "b", "c"], "edited", "d")]
        {
            let refused = names_its_inputs(&gate, &inputs(&ids)).unwrap_err().to_string();
            let expected = format!(
                "gates/specs/a.toml:9: {key} = \"{missing}\" is no case of the inputs, which have {}",
                ids.join(", ")
            );
            assert_eq!(refused, expected);
        }
    }

    fn case(id: &str) -> Case {
        let input = Input::Text { text: "t".into(), parse_special: false };
        Case { id: id.into(), input }
    }

    #[test]
    fn what_is_vacuous_or_mixed_is_refused() {
        let edit = "{ case = \"a\", edited = \"b\" },\n";
        assert_eq!(refused(&fidelity(edit)), "accepted");
        assert!(refused(&fidelity("")).contains("at least one case"));
        assert!(refused(&fidelity(&edit.repeat(2))).contains("twice"));
        let twice = op("a", TOLERANCES) + &op("a", TOLERANCES);
        assert!(refused(&twice).contains("two cases of one id"));
        assert!(refused("[check.op-golden]\ncase = []\n").contains("at least one"));
        assert!(
            refused(&format!("inputs = \"i\"\n{}", op("a", TOLERANCES)))
                .contains("`inputs` belongs to")
        );
        assert!(
            refused(&layers("4e-3").replace("inputs = \"i\"\n", ""))
                .contains("`inputs` belongs to")
        );
        let both = layers("4e-3") + &op("a", TOLERANCES);
        assert!(refused(&both).contains("separate gates"));
        let exact = layers("4e-3") + "[check.token-exact]\n";
        assert!(refused(&exact).contains("separate gates"));
    }
}
