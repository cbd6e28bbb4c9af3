//! `gate capture NAME`

use super::prepare::Declared;
use super::{CommandError, Context};
use oracles::registry::Standing;

use oracles::verbs::Oracle;

use crate::capture;
use crate::kind::inside::Inside;
use crate::report::noise_words;
use crate::supplies::Supplies;
use crate::validity::short;
use crate::words::count;

pub(super) fn capture(context: &Context, name: &str) -> Result<u8, CommandError> {
    let declared = Declared::read(context, name)?;
    if !declared.gate.spec.asks_engine() {
        return Err(capture::CaptureError::Itself(name.to_owned()).into());
    }
    let supplies = declared.supplies(context);
    let checkpoint_name = declared.gate.spec.checkpoint.as_deref();
    let checkpoint_name =
        checkpoint_name.ok_or_else(|| capture::CaptureError::NoInputs(name.to_owned()))?;
    let pinned = declared.oracle.as_ref();
    let pinned = pinned.ok_or_else(|| capture::CaptureError::NoOracle(name.to_owned()))?;
    let checkpoint = supplies.checkpoint(checkpoint_name)?;
    if pinned.declared.standing() == Standing::Directional {
        return Err(CommandError::Directional(pinned.name.clone()));
    }
    let Some(mut oracle) = supplies.oracle(&checkpoint, true)? else {
        return Err(CommandError::Skipped(format!("oracle {} is not provisioned", pinned.name)));
    };
    let target = capture::Target {
        gate: &declared.gate,
        workload: declared.workload.as_ref(),
        checkpoint: &checkpoint,
        oracle: pinned,
        home: &context.home,
        progress: context.progress,
    };
    if let Some(check) = declared.gate.spec.check.inside().first() {
        return tensors(&target, check, oracle.as_mut());
    }
    let captured = capture::capture(&target, oracle.as_mut())?;
    let manifest = &captured.golden.manifest;
    let noise = manifest.noise.as_ref().map_or("not measured".to_owned(), noise_words);
    let repeats = match captured.repeats {
        1 => "answered once".to_owned(),
        repeats => format!("each answered {repeats} times, all identical"),
    };
    super::print(&format!(
        "captured     {} of {name}, {repeats}\n\
         oracle       {} {} (binary {})\n\
         noise        {noise}\n\
         golden       {} (manifest {})\n",
        count(captured.golden.cases.len(), "case", "cases"),
        manifest.oracle.name,
        manifest.oracle.version,
        short(&manifest.oracle.binary_sha256),
        context.home.golden_dir(&pinned.name, name).display(),
        short(&captured.golden.sha256),
    ))?;
    Ok(0)
}

/// Captures a golden of tensors.
fn tensors(
    target: &capture::Target<'_>,
    check: &Inside<'_>,
    oracle: &mut dyn Oracle,
) -> Result<u8, CommandError> {
    let golden = capture::inside::capture(target, check, oracle)?;
    let (name, manifest) = (&target.gate.name, &golden.manifest);
    super::print(&format!(
        "captured     {} of {name}, each answered {} times, all identical\n\
         oracle       {} {} (binary {})\n\
         golden       {} (manifest {})\n",
        count(golden.answers.len(), "case", "cases"),
        target.gate.spec.capture.repeats.0,
        manifest.oracle.name,
        manifest.oracle.version,
        short(&manifest.oracle.binary_sha256),
        target.home.golden_dir(&target.oracle.name, name).display(),
        short(&golden.sha256),
    ))?;
    Ok(0)
}
