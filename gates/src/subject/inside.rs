//! Questions about values inside the model, answered with a file of tensors.

use std::path::Path;

use oracles::tensors::Tensors;
use oracles::verbs::OpQuestion;
use serde_json::json;

use super::{Question, Subject, Verb, answer};
use crate::chain;

impl Subject<'_> {
    /// Every value of a forward pass over `ids`; those in the file `given` take the place of the computed ones. An error says
    /// why there are none.
    pub fn inside(
        &self,
        model: &Path,
        ids: &[u32],
        given: Option<&Path>,
    ) -> Result<Tensors, String> {
        let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
        let mut arguments = self.model_arguments(Some(model));
        arguments.extend(["--ids".to_owned(), ids.join(",")]);
        arguments.extend(["--taps", "embed,layer.*,norm,logits"].map(str::to_owned));
        arguments.extend(given.into_iter().flat_map(|path| ["--given".to_owned(), shown(path)]));
        self.tensors(Verb::Dump, arguments)
    }

    /// What an operation of the profile makes of the tensors in the file `inputs`.
    pub fn op(&self, asked: &OpQuestion, inputs: &Path) -> Result<Tensors, String> {
        let mut arguments = vec![asked.op.clone()];
        arguments.extend(self.model_arguments(None));
        let args = json!(asked.args).to_string();
        arguments.extend(["--args", &args, "--dtype", &asked.dtype, "--inputs"].map(str::to_owned));
        arguments.push(shown(inputs));
        self.tensors(Verb::Op, arguments)
    }

    fn tensors(&self, verb: Verb, arguments: Vec<String>) -> Result<Tensors, String> {
        let question = Question { verb, arguments, lines: Vec::new(), repeat: 0, watched: false };
        let raw = self.transport.ask(&question, self.budget).map_err(|error| chain::of(&error))?;
        if raw.exit != Some(0) {
            return Err(chain::of(&answer::ended(verb, &raw)));
        }
        Tensors::parse(&raw.file).map_err(|error| format!("what it wrote is {error}"))
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
