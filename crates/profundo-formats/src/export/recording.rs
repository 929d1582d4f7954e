//! A recording: the profile itself, in the file that [`crate::read`] reads.

use super::Format;
use super::format::{Holds, Row};

impl Format {
    /// See [`recording`](self). It is none of [`Format::ALL`], which are for other tools:
    /// [`crate::write_file`] saves a profile, so that only its owner may read it.
    pub const RECORDING: Self = Self(&Row {
        name: "profundo",
        aliases: &["recording"],
        extensions: &["profundo"],
        about: "A recording of its own, of what passes the filter",
        file: "recording",
        holds: Holds::Samples,
        has_title: false,
        is_in_order: true,
        has_memory_too: true,
        misfit: |options| {
            let is_drawn = options.weights.is_some()
                || options.merge.is_some()
                || options.processes
                || options.threads
                || options.tasks
                || options.kinds;
            let is_chosen =
                options.measure.is_some() || options.include_runtime || options.only_mine;
            (is_drawn || is_chosen).then_some(
                "a recording has all that is known of what passes: of the options it takes those that choose and change samples",
            )
        },
        is_start: crate::is_profundo,
        write: |profile, _, mut out| crate::write(profile, &mut out),
    });
}
