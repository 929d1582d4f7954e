//! Owners of files and folders: a file that another user could have written is not trusted.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// True if the file belongs to the user, or under sudo to the user who called it.
pub fn is_users_own(found: &Metadata) -> bool {
    // SAFETY: asks for a number.
    let user = unsafe { libc::geteuid() };
    let before = std::env::var("SUDO_UID")
        .ok()
        .and_then(|id| id.parse().ok());
    found.uid() == user || user == 0 && before == Some(found.uid())
}

/// True if the file belongs to root, who may do anything anyway.
pub fn is_roots(found: &Metadata) -> bool {
    found.uid() == 0
}

/// True if all users may write to the file.
pub fn is_world_writable(found: &Metadata) -> bool {
    found.mode() & 0o002 != 0
}

/// True if users may remove only their own files from a folder.
pub fn is_sticky(found: &Metadata) -> bool {
    // As in /tmp.
    found.mode() & 0o1000 != 0
}
