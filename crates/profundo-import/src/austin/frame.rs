//! Frames: a file, a function and a line, or a mark such as `:GC:`.

use profundo_model::{Language, LocationId, LocationKind, Reason};

use crate::{Builder, Named, language_of};

/// A frame as the file has it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Parts<'a> {
    pub file: &'a str,
    pub function: &'a str,
    pub line: u32,
    /// From 1; 0 where unknown.
    pub column: u16,
}

/// The location of a frame.
pub(super) fn location(builder: &mut Builder, parts: Parts<'_>) -> LocationId {
    let Parts {
        file,
        function,
        line,
        column,
    } = parts;
    if file == "kernel" && line == 0 {
        return kernel(builder, function);
    }
    let is_python = !is_native(file);
    let language = match is_python {
        true => Language::Python,
        false => language_of(function, file),
    };
    let frame = builder.frame(Named {
        function,
        file,
        line,
        language: Some(language),
        ..Named::default()
    });
    if column == 0 || !is_python {
        return builder.location_of(frame, None);
    }
    let kind = LocationKind::Python {
        frame,
        column,
        is_call: false,
    };
    let location = builder.profile.locations.intern(kind, None);
    builder.profile.locations.set_frames(location, &[frame]);
    location
}

/// The location of a function of the kernel.
pub(super) fn kernel(builder: &mut Builder, function: &str) -> LocationId {
    let frame = builder.frame(Named {
        function,
        language: Some(Language::Native),
        ..Named::default()
    });
    let module = builder.module("[kernel]");
    builder.location_of(frame, Some(module))
}

/// The location of what is no frame.
pub(super) fn mark(builder: &mut Builder, reason: Reason) -> LocationId {
    let kind = LocationKind::Reason(reason);
    builder.profile.locations.intern(kind, None)
}

/// Whether a file is no Python source.
pub(super) fn is_native(file: &str) -> bool {
    !(file.ends_with(".py") || file.starts_with('<') && file.ends_with('>'))
}
