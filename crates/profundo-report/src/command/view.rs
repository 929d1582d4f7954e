//! The common part of the command's reports on a profile. A new report brings its name, its text
//! and its members of JSON; options, writing and the members that all documents start with are
//! here.

use std::io::{self, BufWriter, Write};

use profundo_analysis::Selection;
use profundo_model::Profile;

use crate::json::{Json, head_members};
use crate::page::Page;
use crate::{Choices, Error, Look};

/// The options that every report has.
#[derive(Debug, Clone)]
pub struct ViewOptions {
    /// The samples that the report is about.
    pub choices: Choices,
    /// The appearance of the report.
    pub look: Look,
    /// True if the line on quality and the notes are shown; `None` is "where the engine is known".
    pub quality: Option<bool>,
}

impl Default for ViewOptions {
    fn default() -> Self {
        Self {
            choices: Choices::command(),
            look: Look::default(),
            quality: None,
        }
    }
}

/// A report of the command on a profile: it has its choices and its appearance, and gives its
/// answer as text or as JSON.
///
/// The required methods are for this crate: their types have no names outside of it.
pub trait View: Sized {
    /// The name that JSON has for the report.
    fn name(&self) -> &'static str;

    /// The options that every report has.
    fn options(&self) -> &ViewOptions;

    /// The options, to be changed.
    fn options_mut(&mut self) -> &mut ViewOptions;

    /// Writes the report as text.
    fn text(&self, page: &mut Page<'_>, selection: &Selection) -> io::Result<()>;

    /// Writes the members that the report adds to the head of the document.
    fn members(&self, profile: &Profile, selection: &Selection, json: &mut Json<'_>);

    /// Sets the samples that the report is about.
    #[must_use]
    fn choices(mut self, choices: Choices) -> Self {
        self.options_mut().choices = choices;
        self
    }

    /// Sets the appearance.
    #[must_use]
    fn look(mut self, look: Look) -> Self {
        self.options_mut().look = look;
        self
    }

    /// Sets whether the line on quality and the notes are shown. Where it is not set, the line is
    /// shown for profiles whose engine is known, and the notes always.
    #[must_use]
    fn quality(mut self, quality: bool) -> Self {
        self.options_mut().quality = Some(quality);
        self
    }

    /// Writes the report on `profile` as text.
    fn write(&self, profile: &Profile, out: impl Write) -> Result<(), Error> {
        let ViewOptions { choices, look, .. } = self.options();
        let mut out = BufWriter::new(out);
        let mut page = Page::new(look, profile, &mut out);
        page.breaks = look.is_terminal();
        self.text(&mut page, &choices.select(profile))?;
        Ok(out.flush()?)
    }

    /// The report as text.
    fn render(&self, profile: &Profile) -> Result<String, Error> {
        let mut out = Vec::new();
        self.write(profile, &mut out)?;
        Ok(String::from_utf8(out).expect("a report is text"))
    }

    /// Writes the report on `profile` as JSON: the schema is in `docs/json.md`.
    fn write_json(&self, profile: &Profile, mut out: impl Write) -> Result<(), Error> {
        let selection = self.options().choices.select(profile);
        self.write_json_of(profile, &selection, &mut out)?;
        Ok(out.flush()?)
    }

    /// Writes the same for a selection that was made before, with this report's filter. It keeps
    /// what several reports ask it.
    fn write_json_of(
        &self,
        profile: &Profile,
        selection: &Selection,
        mut out: impl Write,
    ) -> Result<(), Error> {
        let choices = &self.options().choices;
        Json::document(&mut out, |json| {
            head_members(json, self.name(), profile, choices, selection);
            self.members(profile, selection, json);
        })?;
        Ok(out.flush()?)
    }

    /// The report as JSON: the schema is in `docs/json.md`.
    fn json(&self, profile: &Profile) -> Result<String, Error> {
        let mut out = Vec::new();
        self.write_json(profile, &mut out)?;
        Ok(String::from_utf8(out).expect("JSON is text"))
    }
}
