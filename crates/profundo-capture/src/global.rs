//! The probe of the process, made at its first use.

use profundo_probe::Probe;

use crate::error::Error;
use crate::{fork, probe};

/// The probe, made at the first call and never freed.
pub(crate) fn make_probe() -> Result<&'static Probe, Error> {
    if let Some(probe) = probe::probe() {
        return Ok(probe);
    }
    let made = probe::make()?;
    fork::watch();
    Ok(made)
}
