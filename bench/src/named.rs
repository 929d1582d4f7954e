//! A profile with names in its tables, which is what figures are computed from; the façade keeps
//! data and names apart.

use std::sync::LazyLock;

use profundo::model::Profile;
use profundo_symbols::Symbolizer;

/// Names are found once for each address, however often a comparison asks.
static SYMBOLIZER: LazyLock<Symbolizer> = LazyLock::new(Symbolizer::new);

/// The samples in the buffer, named.
pub fn fetch() -> profundo::Result<Profile> {
    let mut profile = profundo::fetch()?.profile().clone();
    SYMBOLIZER.name_profile(&mut profile);
    Ok(profile)
}
