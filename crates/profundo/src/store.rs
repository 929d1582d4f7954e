//! Data and names in one file, which prints the same on another machine.

use std::path::Path;

use crate::data::Data;
use crate::error::{Error, Result};
use crate::names::Names;

/// Saves data and names as a `.profundo` file, readable by its owner only. The format requires
/// metadata for each sample, so data without it is refused.
pub fn save(path: impl AsRef<Path>, data: &Data, names: &Names) -> Result<()> {
    if !data.has_meta() {
        return Err(Error::MissingMetadata);
    }
    Ok(profundo_formats::write_file(path, &names.apply(data))?)
}

/// Loads a file of [`save`] or of the command. A truncated file gives the samples before the cut,
/// with a warning on stderr.
pub fn load(path: impl AsRef<Path>) -> Result<(Data, Names)> {
    let (profile, warnings) = profundo_formats::read_file(path)?;
    for warning in warnings {
        crate::warn::warn(&warning.to_string());
    }
    let names = Names::of(&profile);
    Ok((Data::from_profile(profile), names))
}
