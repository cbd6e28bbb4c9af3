//! `gate fetch NAME` and `gate oracle list|provision NAME|pack NAME|unpack DIR`

use std::path::Path;

use oracles::checkpoint::{self, CheckpointSpec};
use oracles::registry::{self, Device, OracleSpec, Provisioner, Standing};
use oracles::{Home, provision};
use serde_json::{Value, json};

use super::{CommandError, Context};

pub(super) fn fetch(context: &Context, name: &str) -> Result<u8, CommandError> {
    let spec = CheckpointSpec::load(&context.home, name)?;
    let checkpoint = match checkpoint::resident(&context.home, &spec)? {
        Some(checkpoint) => checkpoint,
        None => checkpoint::fetch(&context.home, &spec, context.progress)?,
    };
    super::print(&format!(
        "{} {} bytes, sha256 {}\n{}\n",
        checkpoint.name,
        checkpoint.bytes,
        checkpoint.sha256,
        checkpoint.path.display()
    ))?;
    Ok(0)
}

pub(super) fn list(context: &Context, as_json: bool) -> Result<u8, CommandError> {
    let mut objects = Vec::new();
    let mut lines = Vec::new();
    for name in registry::names(&context.home)? {
        let spec = OracleSpec::load(&context.home, &name)?;
        lines.push(line(&context.home, &spec));
        objects.push(object(&context.home, &spec));
    }
    let text =
        if as_json { format!("{:#}\n", json!({ "oracles": objects })) } else { lines.concat() };
    super::print(&text)?;
    Ok(0)
}

/// Kind, pin, device, whether it is here, whether it may judge, and what it is.
fn line(home: &Home, spec: &OracleSpec) -> String {
    let (name, declared) = (&spec.name, &spec.declared);
    let kind = declared.provisioner().map_or("none", Provisioner::name);
    let state = match (declared.standing(), provision::installed(home, spec)) {
        (Standing::Directional, _) => "runs elsewhere: directional at most".to_owned(),
        (_, Some(folder)) => format!("provisioned in {}", folder.display()),
        (_, None) => format!("not provisioned (`gate oracle provision {name}`)"),
    };
    let gateable = match (&declared.gateable.evidence, &declared.gateable.debt) {
        (Some(evidence), _) => format!("yes, shown in {}", evidence.display()),
        (_, debt) => format!("no: {}", debt.as_deref().unwrap_or("no reason is given")),
    };
    format!(
        "{name} {}: {}\n  {kind} on {}, pin {}\n  {state}\n  gateable: {gateable}\n",
        declared.package.version,
        declared.summary,
        device(declared.device),
        pin(&declared.package.archive_sha256),
    )
}

fn object(home: &Home, spec: &OracleSpec) -> Value {
    let declared = &spec.declared;
    json!({
        "name": spec.name,
        "version": declared.package.version,
        "summary": declared.summary,
        "kind": declared.provisioner().map(Provisioner::name),
        "device": declared.device,
        "standing": declared.standing(),
        "source_sha256": declared.package.archive_sha256,
        "locked": spec.lock.as_ref().map(|lock| lock.entries.len()),
        "gateable": declared.gateable,
        "provisioned": provision::installed(home, spec),
    })
}

fn device(device: Device) -> &'static str {
    match device {
        Device::Cpu => "cpu",
        Device::Cuda => "cuda",
    }
}

fn pin(sha256: &str) -> String {
    match sha256.get(..12) {
        Some(short) => format!("sha256 {short}"),
        None => "none".to_owned(),
    }
}

pub(super) fn provision(context: &Context, name: &str) -> Result<u8, CommandError> {
    let spec = OracleSpec::load(&context.home, name)?;
    let provisioned = provision::provision(&context.home, &spec, context.progress)?;
    super::print(&format!(
        "{name} {} is provisioned in {}: {} files, {} bytes\n",
        spec.declared.package.version,
        provisioned.dir.display(),
        provisioned.manifest.files.len(),
        provisioned.manifest.files.iter().map(|file| file.bytes).sum::<u64>()
    ))?;
    Ok(0)
}

/// Packs a provisioned oracle into the folder `into`, in parts of at most `split` bytes.
pub(super) fn pack(
    context: &Context,
    name: &str,
    into: &Path,
    split: u64,
) -> Result<u8, CommandError> {
    let spec = OracleSpec::load(&context.home, name)?;
    let provisioned = provision::provision(&context.home, &spec, context.progress)?;
    let bundle = provision::pack(&provisioned, into, split, context.progress)
        .map_err(oracles::Error::from)?;
    super::print(&format!(
        "{name} {} is packed in {}: {} parts, {} bytes\n",
        spec.declared.package.version,
        into.display(),
        bundle.parts.len(),
        bundle.parts.iter().map(|part| part.bytes).sum::<u64>()
    ))?;
    Ok(0)
}

/// Verifies the bundle in the folder `from` and installs it.
pub(super) fn unpack(context: &Context, from: &Path) -> Result<u8, CommandError> {
    let provisioned = provision::unpack_bundle(&context.home, from, context.progress)?;
    super::print(&format!(
        "{} {} is provisioned in {}\n",
        provisioned.spec.name,
        provisioned.manifest.version,
        provisioned.dir.display()
    ))?;
    Ok(0)
}

/// `60MB` as bytes: a whole number with no unit, or with `kB`, `MB` or `GB` (powers of 1000).
pub(super) fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" | "B" => 1,
        "kB" => 1000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        other => return Err(format!("expected kB, MB or GB, found {other:?}")),
    };
    let bytes = digits.parse::<u64>().ok().and_then(|count| count.checked_mul(unit));
    bytes.filter(|bytes| *bytes > 0).ok_or_else(|| format!("expected a number, found {digits:?}"))
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_have_units_of_a_thousand() {
        assert_eq!(size("60MB"), Ok(60_000_000));
        assert_eq!(size("1"), Ok(1));
        assert_eq!(size("2kB"), Ok(2000));
        for wrong in ["", "MB", "-1MB", "0", "1MiB", "99999999999GB", "1.5GB"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
