//! The common part of reports whose answer was found before they are made: on several recordings,
//! or on a store. They have no selection of samples to make; a report on one profile is a
//! [`View`](super::View).

use std::io::{self, BufWriter, Write};

use profundo_model::Profile;

use crate::json::{Json, header_member};
use crate::page::Page;
use crate::{Error, Look};

/// A report on what was found before, as text or as JSON.
///
/// The required methods are for this crate: their types have no names outside of it.
pub trait Ready: Sized {
    /// The name that JSON has for the report.
    fn name(&self) -> &'static str;

    /// The appearance.
    fn appearance(&self) -> &Look;

    /// The appearance, to be changed.
    fn appearance_mut(&mut self) -> &mut Look;

    /// Writes the report as text.
    fn text(&self, page: &mut Page<'_>) -> io::Result<()>;

    /// Writes the members behind the head of the document.
    fn members(&self, json: &mut Json<'_>);

    /// The profile whose units the text has, if it is about one.
    fn profile(&self) -> Option<&Profile> {
        None
    }

    /// Sets the appearance.
    #[must_use]
    fn look(mut self, look: Look) -> Self {
        *self.appearance_mut() = look;
        self
    }

    /// Writes the report as text.
    fn write(&self, out: impl Write) -> Result<(), Error> {
        let mut out = BufWriter::new(out);
        let nothing = Profile::default();
        let look = self.appearance();
        let mut page = Page::new(look, self.profile().unwrap_or(&nothing), &mut out);
        page.breaks = look.is_terminal() || look.asked_width().is_some();
        self.text(&mut page)?;
        Ok(out.flush()?)
    }

    /// The report as text.
    fn render(&self) -> Result<String, Error> {
        let mut out = Vec::new();
        self.write(&mut out)?;
        Ok(String::from_utf8(out).expect("a report is text"))
    }

    /// Writes the report as JSON: the schema is in `docs/json.md`.
    fn write_json(&self, mut out: impl Write) -> Result<(), Error> {
        Json::document(&mut out, |json| {
            header_member(json, self.name());
            self.members(json);
        })?;
        Ok(out.flush()?)
    }

    /// The report as JSON.
    fn json(&self) -> Result<String, Error> {
        let mut out = Vec::new();
        self.write_json(&mut out)?;
        Ok(String::from_utf8(out).expect("JSON is text"))
    }
}
