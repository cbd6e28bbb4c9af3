//! `gate fetch NAME` and `gate oracle list|provision NAME`

use oracles::checkpoint::{self, CheckpointSpec};
use oracles::provision;
use oracles::registry::{self, OracleSpec};
use serde_json::json;

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
        let folder = provision::provisioned(&context.home, &spec)?.map(|found| found.dir);
        let declared = &spec.declared;
        let state = match &folder {
            Some(folder) => format!("provisioned in {}", folder.display()),
            None => format!("not provisioned (`gate oracle provision {name}`)"),
        };
        lines.push(format!(
            "{name} {}: {}\n  {state}\n",
            declared.package.version, declared.summary
        ));
        objects.push(json!({
            "name": name,
            "version": declared.package.version,
            "summary": declared.summary,
            "source_sha256": declared.package.archive_sha256,
            "provisioned": folder,
        }));
    }
    let text =
        if as_json { format!("{:#}\n", json!({ "oracles": objects })) } else { lines.concat() };
    super::print(&text)?;
    Ok(0)
}

pub(super) fn provision(context: &Context, name: &str) -> Result<u8, CommandError> {
    let spec = OracleSpec::load(&context.home, name)?;
    let provisioned = provision::provision(&context.home, &spec, context.progress)?;
    super::print(&format!(
        "{name} {} is provisioned in {}\n",
        spec.declared.package.version,
        provisioned.dir.display()
    ))?;
    Ok(0)
}
