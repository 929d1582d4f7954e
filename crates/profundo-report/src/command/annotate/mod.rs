//! The instructions of a function beside its source, with a share for each.

mod arrows;
mod json;
mod rows;
mod text;

use std::io;

use profundo_analysis::{Annotation, FunctionCode, Pattern, Place, Selection, annotate, nearest};
use profundo_model::{FrameId, LocationId, Profile};

use self::rows::Choice;
use super::{View, ViewOptions};
use crate::json::Json;
use crate::page::Page;

/// A function whose instructions are known, or only its extent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The function at a line of its own.
    pub frame: FrameId,
    /// Its code.
    pub code: FunctionCode,
    /// The file that the code was read from.
    pub file: String,
    /// The build id by which that file is known as the one that ran; empty where there is none.
    pub build_id: Vec<u8>,
    /// Its instructions; none where only its share is of interest.
    pub instructions: Vec<ListedInstruction>,
}

/// An instruction of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedInstruction {
    /// The location whose frames say where in the source it comes from.
    pub location: LocationId,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Its text.
    pub text: String,
    /// The address that it jumps to.
    pub jump: Option<u64>,
}

/// The instructions of the functions of a name.
#[derive(Debug, Clone)]
pub struct Annotate {
    options: ViewOptions,
    name: Pattern,
    listings: Vec<Listing>,
    choice: Choice,
    from_disk: bool,
}

impl Annotate {
    /// The functions that `name` means: those with instructions are shown, the others are counted.
    pub fn new(name: impl Into<Pattern>, listings: Vec<Listing>) -> Self {
        Self {
            options: ViewOptions::default(),
            name: name.into(),
            listings,
            choice: Choice {
                all: false,
                min_share: None,
                context: None,
            },
            from_disk: true,
        }
    }

    /// Sets whether cold instructions are shown too.
    pub fn all(mut self, all: bool) -> Self {
        self.choice.all = all;
        self
    }

    /// The share of the function's time from which on an instruction is hot, as 0.01 for one
    /// percent.
    pub fn min_share(mut self, min_share: f64) -> Self {
        self.choice.min_share = Some(min_share);
        self
    }

    /// Sets the number of instructions that are shown on either side of a hot one.
    pub fn context(mut self, context: u32) -> Self {
        self.choice.context = Some(context as usize);
        self
    }

    /// Sets whether source that the profile does not carry is looked for on the disk.
    pub fn from_disk(mut self, from_disk: bool) -> Self {
        self.from_disk = from_disk;
        self
    }

    /// Each listing with its time, the ones with instructions first, then the hottest.
    fn annotated(&self, profile: &Profile, selection: &Selection) -> Vec<(&Listing, Annotation)> {
        let codes: Vec<FunctionCode> = (self.listings.iter())
            .map(|listing| listing.code.clone())
            .collect();
        let annotations = annotate(profile, selection, &codes);
        let mut rows: Vec<_> = self.listings.iter().zip(annotations).collect();
        rows.retain(|(_, annotation)| annotation.total_amount.count > 0);
        rows.sort_by_key(|(listing, annotation)| {
            let is_other = listing.instructions.is_empty();
            (is_other, std::cmp::Reverse(annotation.total_amount.weight))
        });
        rows
    }

    /// The number of functions with instructions.
    fn shown_count(&self) -> usize {
        let listings = self.listings.iter();
        listings
            .filter(|listing| !listing.instructions.is_empty())
            .count()
    }

    /// Functions that may have been meant, where there is none of this name.
    fn nearest<'a>(&self, profile: &'a Profile, selection: &Selection) -> Vec<&'a str> {
        const MOST: usize = 3;
        let shown = self.options.choices.shown;
        nearest(profile, selection, &self.name, shown, MOST)
    }
}

impl Listing {
    fn place(&self) -> Place {
        Place::Frame(self.frame)
    }

    /// The number of the instruction at an address.
    fn at(&self, address: u64) -> Option<usize> {
        self.code.starts.binary_search(&address).ok()
    }
}

impl View for Annotate {
    fn name(&self) -> &'static str {
        "annotate"
    }

    fn options(&self) -> &ViewOptions {
        &self.options
    }

    fn options_mut(&mut self) -> &mut ViewOptions {
        &mut self.options
    }

    fn text(&self, page: &mut Page<'_>, selection: &Selection) -> io::Result<()> {
        text::write(self, page, selection)
    }

    fn members(&self, profile: &Profile, selection: &Selection, json: &mut Json<'_>) {
        json::members(self, profile, selection, json)
    }
}
