//! A profile with names in its tables, for computing figures; the façade keeps data and names
//! apart.

use std::sync::LazyLock;

use profundo::model::Profile;
use profundo_symbols::Symbolizer;

/// Names are looked up once per address, however often a comparison needs them.
static SYMBOLIZER: LazyLock<Symbolizer> = LazyLock::new(Symbolizer::new);

/// The samples in the buffer, named.
pub fn fetch() -> profundo::Result<Profile> {
    let mut profile = profundo::fetch()?.profile().clone();
    SYMBOLIZER.name_profile(&mut profile);
    Ok(profile)
}
