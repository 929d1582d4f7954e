//! The files that a recording names. Those of another machine, or replaced since, are among the
//! copies that perf keeps by build id: in `~/.debug`, or where `perf archive` was unpacked.

use std::path::{Path, PathBuf};

use profundo_model::{build_id_copies, folders_of_copies};

use super::elf::Segments;

/// The places of a recording's files.
#[derive(Debug, Default)]
pub(super) struct ProgramFiles {
    /// Folders of copies.
    folders: Vec<PathBuf>,
}

impl ProgramFiles {
    /// Looks for copies beside the recording too. For one without a path there are none.
    pub(super) fn beside(recording: Option<&Path>) -> Self {
        let Some(recording) = recording else {
            return Self::default();
        };
        let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".debug"));
        let folders = folders_of_copies(recording);
        let has_copies = |folder: &PathBuf| folder.join(".build-id").is_dir();
        Self {
            folders: (folders.into_iter().chain(home))
                .filter(has_copies)
                .collect(),
        }
    }

    /// The files that may be the one at this path with this build id.
    pub(super) fn candidates(&self, path: &str, build_id: &[u8]) -> Vec<PathBuf> {
        let path = path.strip_suffix(" (deleted)").unwrap_or(path);
        let mut found = Vec::new();
        if path.starts_with('/') {
            found.push(PathBuf::from(path));
        }
        // perf fills up shorter ones, and names the copy after all of it or not.
        let zeros = build_id.iter().rev().take_while(|&&byte| byte == 0).count();
        let bare = &build_id[..build_id.len() - zeros];
        let ids = [Some(build_id), Some(bare).filter(|_| zeros >= 4)];
        for id in ids.into_iter().flatten() {
            let copies = |folder: &PathBuf| build_id_copies(folder, id);
            found.extend(self.folders.iter().flat_map(copies));
        }
        found
    }

    /// The segments of a file; none if it cannot be found.
    pub(super) fn segments(&self, path: &str, build_id: &[u8]) -> Segments {
        let mut candidates = self.candidates(path, build_id).into_iter();
        let found = candidates.find_map(|path| Segments::of_file(&path, build_id));
        found.unwrap_or_default()
    }
}

/// Whether a file's build id is the recorded one, which older versions fill up with zeros.
pub(super) fn is_same_build_id(found: &[u8], recorded: &[u8]) -> bool {
    let filled = recorded.strip_prefix(found);
    !found.is_empty() && filled.is_some_and(|rest| rest.iter().all(|&byte| byte == 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_named_after_their_build_id() {
        let files = ProgramFiles {
            folders: vec!["/r".into(), "/r/.debug".into()],
        };
        let found = files.candidates("/usr/bin/a (deleted)", &[0xab, 1, 2]);
        assert_eq!(found[0], Path::new("/usr/bin/a"));
        assert_eq!(found[1], Path::new("/r/.build-id/ab/0102/elf"));
        assert!(found.contains(&PathBuf::from("/r/.debug/.build-id/ab/0102")));
        let filled = [&[0xab; 16][..], &[0; 4]].concat();
        let found = files.candidates("[vdso]", &filled);
        let short = format!("/r/.build-id/ab/{}/vdso", "ab".repeat(15));
        assert!(found.contains(&PathBuf::from(short)));
        assert!(ProgramFiles::default().candidates("a", &[1; 20]).is_empty());
    }

    #[test]
    fn a_filled_build_id_is_the_same() {
        assert!(is_same_build_id(&[1, 2], &[1, 2]));
        assert!(is_same_build_id(&[1, 2], &[1, 2, 0, 0]));
        assert!(!is_same_build_id(&[1, 2], &[1, 2, 3]));
        assert!(!is_same_build_id(&[1, 2, 0], &[1, 2]));
        assert!(!is_same_build_id(&[], &[1]));
    }
}
