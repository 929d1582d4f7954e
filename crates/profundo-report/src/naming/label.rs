//! The names of places in a report.

use profundo_analysis::Place;
use profundo_model::{Frame, Language, LocationId, LocationKind, Profile};

/// A place's name.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Label<'a> {
    /// A function, a file, or both.
    Frame(&'a Frame),
    /// A name in brackets, with the reason why the stack has no function here.
    Reason(&'a str),
    /// Nothing is known.
    Unknown,
}

/// The name of a function without one.
pub(crate) const NO_FUNCTION: &str = "[unknown function]";

impl<'a> Label<'a> {
    pub(crate) fn of(profile: &'a Profile, place: Place) -> Self {
        let frame = match place {
            Place::Frame(frame) => frame,
            Place::Reason(reason) => return Self::Reason(reason.name()),
            Place::Unknown => return Self::Unknown,
        };
        let function = profile.function_name(frame);
        let row = profile.frames.get(frame);
        if row.language == Language::Synthetic {
            Self::Reason(function)
        } else if function.is_empty() && profile.file_path(frame).is_empty() {
            Self::Unknown
        } else {
            Self::Frame(row)
        }
    }

    /// The line, 0 where it is unknown.
    pub(crate) fn line(&self) -> u32 {
        match self {
            Self::Frame(frame) => frame.line,
            Self::Reason(_) | Self::Unknown => 0,
        }
    }
}

/// The function as it is shown: with its parameters where they are known, but C functions by
/// their bare name.
pub(crate) fn function<'a>(profile: &'a Profile, frame: &Frame) -> &'a str {
    let signature = profile.strings.get(frame.signature);
    let name = profile.strings.get(frame.function);
    match (signature, name) {
        (_, "") => NO_FUNCTION,
        ("", name) => name,
        (_, name) if frame.is_c() => name,
        (signature, _) => signature,
    }
}

/// The separator between a prefix and the rest of a path.
pub(crate) fn separator(prefix: &str, rest: &str) -> &'static str {
    if prefix.is_empty() || rest.starts_with('/') {
        ""
    } else {
        "/"
    }
}

/// The line as it is shown.
pub(crate) fn line_number(line: u32) -> String {
    if line == 0 {
        "?".to_owned()
    } else {
        line.to_string()
    }
}

/// The address of a location; those that were made up have one, too.
pub(crate) fn address(profile: &Profile, location: LocationId) -> Option<u64> {
    match profile.locations.get(location).kind {
        LocationKind::Code(code) => Some(code.address().0),
        LocationKind::Invented(number) => Some(number),
        LocationKind::Part { of, .. } => address(profile, of),
        _ => None,
    }
}
