//! `grid host`

use records::Machine;

use super::CommandError;
use crate::clocks::spin;
use crate::host::Host;

pub(super) fn host(json: bool) -> Result<u8, CommandError> {
    let machine = Machine::capture();
    let host = Host { machine, spin: spin::measure(2 * spin::SAMPLES, spin::SAMPLE) };
    let text = if json {
        records::canonical::canonical_json(&host).map_err(std::io::Error::from)?
    } else {
        host.text()
    };
    super::print(&text)?;
    Ok(0)
}
