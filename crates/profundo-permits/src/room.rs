//! Room for the memory that programs share with the recorder.

use std::io;
use std::path::{Path, PathBuf};

use profundo_linux::sys;
use profundo_session::{Directory, Error};

use super::gap::{Finding, Gap, Verdict, error_text};

/// The gap where neither place has room.
pub fn no_room(fallback: &Path, error: &io::Error) -> Gap {
    let why = format!(
        "no room for the session's shared memory in /dev/shm or {}: {}",
        fallback.display(),
        error_text(error)
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
pub(super) fn check() -> Finding {
    const TOPIC: &str = "memory";
    match Directory::create(None) {
        Ok(directory) => {
            let place = directory.path().parent().unwrap_or(Path::new("/"));
            let free = sys::free_space(place).unwrap_or(0) >> 20;
            let text = format!("{free} MB free in {}", place.display());
            let is_memory = place == Path::new("/dev/shm");
            match is_memory {
                true => Finding::works(TOPIC, text),
                false => Finding::gap(
                    TOPIC,
                    Verdict::Partly,
                    Gap::command(
                        format!("{text}, which stands in for /dev/shm: there is no room in that"),
                        "sudo mount -o remount,size=64M /dev/shm",
                    ),
                ),
            }
        }
        Err(Error::NoRoom { fallback, source }) => {
            Finding::gap(TOPIC, Verdict::Fails, no_room(&fallback, &source))
        }
        Err(error) => Finding::gap(TOPIC, Verdict::Fails, Gap::of(error.to_string())),
    }
    .essential()
}
