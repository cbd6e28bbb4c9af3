//! `gate capture NAME`

use super::prepare::Declared;
use super::{CommandError, Context};
use oracles::registry::Standing;

use crate::capture;
use crate::report::noise_words;
use crate::supplies::Supplies;
use crate::validity::short;
use crate::words::count;

pub(super) fn capture(context: &Context, name: &str) -> Result<u8, CommandError> {
    let declared = Declared::read(context, name)?;
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
