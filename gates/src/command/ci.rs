//! What a CI job says of the words: a summary in Markdown, and an annotation for each word that got worse.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use records::gap::worse::{words_of_page, worse};
use records::gap::{Cell, OpenGaps, PAGE, Word};
use records::pages::{annotations, summary};

use super::{CommandError, Context};

/// Writes the summary where one is wanted, and prints the annotations where they are.
pub(super) fn tell(
    context: &Context,
    (tracks, cells): (&OpenGaps, &[Cell]),
    base: Option<&str>,
    file: Option<&Path>,
    annotate: bool,
) -> Result<(), CommandError> {
    let before = base.map(|base| words_at(&context.home.root, base)).transpose()?;
    let worse = before.map(|before| worse(&before, tracks, cells));
    if let Some(path) = file {
        let text = summary(cells, base.zip(worse.as_deref()));
        std::fs::write(path, text)
            .map_err(|source| CommandError::Summary { path: path.to_owned(), source })?;
    }
    let lines = worse.as_deref().map(annotations).unwrap_or_default();
    if annotate { super::print(&lines) } else { Ok(()) }
}

/// The words that the page had at a revision. It was checked against its records there, so that it stands for them.
fn words_at(root: &Path, revision: &str) -> Result<BTreeMap<u32, Word>, CommandError> {
    let base =
        |problem: String| CommandError::Base { revision: revision.to_owned(), page: PAGE, problem };
    // A revision is no option, whatever it begins with: no revision begins with a dash.
    if revision.starts_with('-') {
        return Err(base("not a revision".to_owned()));
    }
    let output = Command::new("git")
        .arg("-C")
        .arg(root)
        .args(["show", &format!("{revision}:./{PAGE}")])
        .output()
        .map_err(|error| base(format!("cannot run git: {error}")))?;
    if !output.status.success() {
        return Err(base(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    Ok(words_of_page(&String::from_utf8_lossy(&output.stdout)))
}
