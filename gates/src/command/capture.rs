//! `gate capture NAME`

use super::prepare::Declared;
use super::{CommandError, Context};
use crate::capture;
use crate::supplies::Supplies;

pub(super) fn capture(context: &Context, name: &str) -> Result<u8, CommandError> {
    let declared = Declared::read(context, name)?;
    let supplies = declared.supplies(context);
    let checkpoint_name = declared.gate.spec.checkpoint.as_deref();
    let checkpoint_name =
        checkpoint_name.ok_or_else(|| capture::CaptureError::NoInputs(name.to_owned()))?;
    let checkpoint = supplies.checkpoint(checkpoint_name)?;
    let Some(mut oracle) = supplies.oracle(&checkpoint, true)? else {
        return Err(CommandError::Skipped(format!(
            "oracle {} is not provisioned",
            declared.oracle.name
        )));
    };
    let target = capture::Target {
        gate: &declared.gate,
        workload: declared.workload.as_ref(),
        checkpoint: &checkpoint,
        home: &context.home,
        progress: context.progress,
    };
    let captured = capture::capture(&target, oracle.as_mut())?;
    let manifest = &captured.golden.manifest;
    let noise = manifest.noise.as_ref().map_or("not measured".to_owned(), |noise| {
        format!(
            "{:.3} milli-nats over {} positions, {} choices differ ({})",
            noise.logprob_difference_max_mnats, noise.steps, noise.ids_differ, noise.method
        )
    });
    super::print(&format!(
        "captured     {} cases of {name}, each answered {} times, all identical\n\
         oracle       {} {} (binary {})\n\
         noise        {noise}\n\
         golden       {}\n",
        captured.golden.cases.len(),
        captured.repeats,
        manifest.oracle.name,
        manifest.oracle.version,
        crate::validity::short(&manifest.oracle.binary_sha256),
        context.home.golden_dir(&declared.oracle.name, name).display(),
    ))?;
    Ok(0)
}
