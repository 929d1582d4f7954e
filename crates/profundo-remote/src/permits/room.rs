//! Room for the memory that programs share with the recorder.

use std::io;
use std::path::{Path, PathBuf};

use super::gap::{Finding, Gap, Verdict, said};
use crate::session::Directory;
use crate::sys;

/// Neither place has room.
pub(crate) fn no_room(fallback: &Path, error: &io::Error) -> Gap {
    let why = format!(
        "no room for the session's shared memory in /dev/shm or {}: {}",
        fallback.display(),
        said(error)
    );
    match roomy(fallback) {
        Some(place) => Gap::command(why, format!("export TMPDIR={}", place.display())),
        None => Gap::advice(why, "free some, or set TMPDIR to a directory that has 8 MB"),
    }
}

/// A place that has room.
fn roomy(but: &Path) -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let places = ["/tmp", "/var/tmp"]
        .into_iter()
        .map(PathBuf::from)
        .chain(home);
    let mut places = places.filter(|place| place != but && place.is_absolute());
    places.find(|place| Directory::create_in(place).is_ok())
}

/// Makes a session's directory, and removes it again.
pub(super) fn look() -> Finding {
    const TOPIC: &str = "memory";
    match Directory::create(None) {
        Ok(directory) => {
            let place = directory.path().parent().unwrap_or(Path::new("/"));
            let free = sys::free_space(place).unwrap_or(0) >> 20;
            let says = format!("{free} MB free in {}", place.display());
            let is_memory = place == Path::new("/dev/shm");
            match is_memory {
                true => Finding::works(TOPIC, says),
                false => Finding::gap(
                    TOPIC,
                    Verdict::Partly,
                    Gap::command(
                        format!("{says}, which stands in for /dev/shm: there is no room in that"),
                        "sudo mount -o remount,size=64M /dev/shm",
                    ),
                ),
            }
        }
        Err(crate::Error::Refused(gap)) => Finding::gap(TOPIC, Verdict::Fails, gap),
        Err(error) => Finding::gap(TOPIC, Verdict::Fails, Gap::of(error.to_string())),
    }
    .essential()
}
