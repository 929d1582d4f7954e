//! The text of a source file that is in the recording. No other file is read.

use profundo_model::{FileId, Profile};
use profundo_report::SourceText;
use serde::Serialize;

use super::Answer;
use crate::{Error, Library, Question};

#[derive(Debug, Serialize)]
struct Source {
    file: String,
    /// `found`, or why the disk has no text.
    state: &'static str,
    /// From line 1 on; `null` where a line is not known.
    lines: Vec<Option<String>>,
}

pub(super) fn source(library: &Library, question: &Question) -> Result<Answer, Error> {
    let part = library.part(question)?;
    let profile = part.profile();
    let path = question.get("file").unwrap_or_default();
    let file = find(profile, path)
        .ok_or_else(|| Error::Nothing(format!("no file “{path}” is in this recording")))?;
    let SourceText { state, lines } = SourceText::of(profile, file);
    Answer::json(&Source {
        file: path.to_owned(),
        state,
        lines,
    })
}

/// The file with this path. Several may have it, with different texts: the first counts.
fn find(profile: &Profile, path: &str) -> Option<FileId> {
    let mut files = profile.files.iter().enumerate();
    let found = files.find(|(_, file)| profile.strings.get(file.path) == path)?;
    Some(FileId(u32::try_from(found.0).ok()?))
}
