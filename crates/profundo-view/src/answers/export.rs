//! What is looked at as a file of another tool: what `profundo export` writes with the same filter.

use profundo_analysis::keep_only;
use profundo_formats::export::{self, Format, Options};

use super::{Answer, graph};
use crate::{Error, Library, Question};

pub(super) fn export(library: &Library, question: &Question) -> Result<Answer, Error> {
    let part = library.part(question)?;
    let wanted = question.get("format").unwrap_or_default();
    let format = (Format::ALL
        .iter()
        .copied()
        .find(|known| known.name() == wanted))
    .ok_or_else(|| Error::value("format", format!("there is no “{wanted}”")))?;
    let mut profile = part.profile().clone();
    keep_only(&mut profile, part.filter());
    if !format.holds().any_in(&profile) {
        return Err(Error::Nothing("nothing passes the filter".to_owned()));
    }
    let options = Options {
        include_runtime: question.is("runtime"),
        only_mine: question.is("mine"),
        filter: question.get("filter").unwrap_or_default().to_owned(),
        icicle: true,
        graph: graph::options(question)?,
        ..Options::default()
    };
    let mut bytes = Vec::new();
    export::write(&profile, format, &options, &mut bytes)
        .map_err(|error| Error::Write(error.to_string()))?;
    Ok(Answer {
        bytes,
        is: match format.is_picture() {
            true => "image/svg+xml",
            false => "application/octet-stream",
        },
    })
}
