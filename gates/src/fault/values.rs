//! What faults on files of tensors have in common: changing some of them, in what the engine wrote or in what it is given.

use oracles::tensors::{Tensor, Tensors};

use crate::subject::{Question, RawAnswer, Verb};

/// Changes the tensors that the engine wrote. A file that cannot be read stays as it is.
pub(super) fn change(
    question: &Question,
    answer: &mut RawAnswer,
    change: impl FnOnce(&mut Tensors),
) {
    if !matches!(question.verb, Verb::Dump | Verb::Op) {
        return;
    }
    let Ok(mut tensors) = Tensors::parse(&answer.file) else { return };
    change(&mut tensors);
    if let Ok(file) = tensors.to_bytes() {
        answer.file = file;
    }
}

/// Changes the floats of each tensor whose name is `part` or begins with it and a dot; rows of the width that `change` is
/// told. What an operation writes is named otherwise, and is changed whatever the part.
pub(super) fn change_part(
    question: &Question,
    answer: &mut RawAnswer,
    part: &str,
    change_rows: impl Fn(usize, &mut [f32]),
) {
    let is_op = question.verb == Verb::Op;
    let belongs = |name: &str| {
        name.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    change(question, answer, |tensors| {
        for (name, tensor) in &mut tensors.0 {
            if is_op || belongs(name) {
                change_floats(tensor, &change_rows);
            }
        }
    });
}

fn change_floats(tensor: &mut Tensor, change: impl Fn(usize, &mut [f32])) {
    let (Some(mut values), Some(&width)) = (tensor.floats(), tensor.form.shape.last()) else {
        return;
    };
    change(width, &mut values);
    *tensor = Tensor::of_f32(tensor.form.shape.clone(), &values);
}

/// The values that come of reading bfloat16 as if they were `f32`: pairs of them, half as many, twice over.
pub(super) fn misread(values: &[f32]) -> Vec<f32> {
    let halves: Vec<u8> = values.iter().flat_map(|value| upper_half(*value)).collect();
    let read = halves.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
    read.clone().chain(read).take(values.len()).collect()
}

fn upper_half(value: f32) -> [u8; 2] {
    let [_, _, low, high] = value.to_le_bytes();
    [low, high]
}

/// The value behind a flag of the question.
pub(super) fn argument_mut<'q>(question: &'q mut Question, flag: &str) -> Option<&'q mut String> {
    let at = question.arguments.iter().position(|argument| argument == flag)?;
    question.arguments.get_mut(at + 1)
}

/// Changes a constant of an operation. One that has none of that name stays as it is.
pub(super) fn change_constant(
    question: &mut Question,
    name: &str,
    change: impl FnOnce(&mut serde_json::Value),
) {
    let Some(text) = argument_mut(question, "--args") else { return };
    let Ok(mut args) = serde_json::from_str::<serde_json::Value>(text) else { return };
    if let Some(value) = args.get_mut(name) {
        change(value);
        *text = args.to_string();
    }
}

/// Whether the question is of that operation.
pub(super) fn is_op(question: &Question, name: &str) -> bool {
    question.verb == Verb::Op && question.arguments.first().is_some_and(|op| op == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::Watch;

    fn dump(names: &[&str]) -> (Question, RawAnswer) {
        let tensor =
            |name: &&str| ((*name).to_owned(), Tensor::of_f32(vec![2, 2], &[1.0, 2.0, 3.0, 4.0]));
        let file = Tensors(names.iter().map(tensor).collect()).to_bytes().unwrap();
        let (arguments, lines) = (Vec::new(), Vec::new());
        let question = Question { verb: Verb::Dump, arguments, lines, repeat: 0, watched: false };
        let answer = RawAnswer {
            stdout: String::new(),
            exit: Some(0),
            stderr_tail: String::new(),
            watch: Watch::default(),
            file,
        };
        (question, answer)
    }

    #[test]
    fn only_the_named_part_is_changed() {
        let (question, mut answer) = dump(&["layer.1", "layer.1.key", "layer.10", "norm"]);
        change_part(&question, &mut answer, "layer.1", |width, values| values[width] = 0.0);
        let found = Tensors::parse(&answer.file).unwrap();
        let third = |name: &str| found.0[name].floats().unwrap()[2].to_bits();
        let [zero, three] = [0.0_f32, 3.0].map(f32::to_bits);
        assert_eq!(
            ["layer.1", "layer.1.key", "layer.10", "norm"].map(third),
            [zero, zero, three, three]
        );
    }

    /// 1 and -2 are 0x3f80 and 0xc000: read as one little-endian number, 0xc0003f80.
    #[test]
    fn pairs_are_read_as_one() {
        let found: Vec<u32> = misread(&[1.0, -2.0]).into_iter().map(f32::to_bits).collect();
        assert_eq!(found, [0xc000_3f80, 0xc000_3f80]);
    }

    #[test]
    fn a_constant_is_changed_where_there_is_one() {
        let (mut question, _) = dump(&[]);
        question.arguments = ["rope", "--args", "{\"base\":8.0}"].map(str::to_owned).to_vec();
        change_constant(&mut question, "base", |base| *base = 2.0.into());
        change_constant(&mut question, "eps", |eps| *eps = 1.0.into());
        assert_eq!(question.arguments[2], "{\"base\":2.0}");
    }
}
