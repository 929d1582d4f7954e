//! The page of a report after Julia's, with the report's options.

use std::io::Write;
use std::ops::{Deref, DerefMut};

use profundo_model::Profile;

use super::Report;
use crate::Look;
use crate::page::Page;

/// A report after Julia's that is being written.
pub(crate) struct Printer<'a> {
    pub report: &'a Report,
    page: Page<'a>,
}

impl<'a> Printer<'a> {
    pub(crate) fn new(
        report: &'a Report,
        look: &Look,
        profile: &'a Profile,
        out: &'a mut dyn Write,
    ) -> Self {
        let page = Page::new(look, profile, out);
        let page = match report.choices.is_command {
            true => page.with_short_files(),
            false => page,
        };
        Self { report, page }
    }
}

impl<'a> Deref for Printer<'a> {
    type Target = Page<'a>;

    fn deref(&self) -> &Page<'a> {
        &self.page
    }
}

impl DerefMut for Printer<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.page
    }
}
