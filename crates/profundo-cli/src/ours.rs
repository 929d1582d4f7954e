//! Whose a file or a folder is: what others could have written is not taken for the user's own.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// Whether it belongs to the user. Root is also the user who has become root by sudo.
pub fn is_ours(found: &Metadata) -> bool {
    // SAFETY: asks for a number.
    let user = unsafe { libc::geteuid() };
    let before = std::env::var("SUDO_UID")
        .ok()
        .and_then(|it| it.parse().ok());
    found.uid() == user || user == 0 && before == Some(found.uid())
}

/// Whether it belongs to root, who may do anything anyway.
pub fn is_roots(found: &Metadata) -> bool {
    found.uid() == 0
}

/// Whether everybody may write to it.
pub fn is_everybodys(found: &Metadata) -> bool {
    found.mode() & 0o002 != 0
}

/// Whether everybody may put files into a folder, but nobody may take those of others away.
pub fn is_shared(found: &Metadata) -> bool {
    // As in /tmp.
    found.mode() & 0o1000 != 0
}
