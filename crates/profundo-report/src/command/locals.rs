//! The local variables of Python frames, below each frame of a stack.

use std::io;

use profundo_analysis::{Shown, each_shown_stack};
use profundo_model::{LocationId, LocationKind, Profile, Reason, StackId};

use super::GRAY;
use crate::json::Json;
use crate::page::Page;
use crate::page::line::{Line, Style};
use crate::page::width::width;

/// The variables of a thread, as they are shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThreadLocals {
    /// Its process.
    pub pid: u32,
    /// The kernel's number of the thread.
    pub tid: u32,
    /// Those of each Python frame, innermost first.
    pub frames: Vec<FrameLocals>,
}

/// The variables of a frame.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FrameLocals {
    /// Those that have a value.
    pub variables: Vec<Local>,
    /// Why others are missing.
    pub missing: Option<&'static str>,
}

/// A variable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Local {
    /// Its name.
    pub name: String,
    /// `argument`, `local`, or `outer`: of an outer function.
    pub origin: &'static str,
    /// The class of its value; empty if that is not known.
    pub class: String,
    /// Its value, without control characters.
    pub value: String,
    /// Whether contents are left out of the value.
    pub is_hidden: bool,
}

/// The variables of the shown places of a stack, innermost first. Empty if the stack is not the one
/// that they were read with.
pub(super) fn of_places<'a>(
    profile: &Profile,
    stack: StackId,
    shown: Shown,
    locals: Option<&'a ThreadLocals>,
) -> Vec<Option<&'a FrameLocals>> {
    let Some(locals) = locals else {
        return Vec::new();
    };
    let is_python = |location: LocationId| {
        let kind = profile.locations.get(location).kind;
        matches!(
            kind,
            LocationKind::Python { .. } | LocationKind::Reason(Reason::PythonUnnamed)
        )
    };
    // Outermost first, as the places are.
    let mut all: Vec<LocationId> = profile.stacks.locations(stack).collect();
    all.retain(|&location| is_python(location));
    all.reverse();
    if all.len() != locals.frames.len() {
        return Vec::new();
    }
    let mut frames = all.iter().zip(locals.frames.iter().rev());
    let mut found = Vec::new();
    each_shown_stack(profile, [stack], shown, |_, path| {
        // A place that is not shown is passed over.
        let of_place = |&(_, location): &(_, LocationId)| match is_python(location) {
            true => frames
                .find(|&(&at, _)| at == location)
                .map(|(_, frame)| frame),
            false => None,
        };
        found = path.iter().map(of_place).collect();
    });
    found.reverse();
    found
}

/// Writes the variables of a frame. The reason why some are missing is not written again where it
/// is that of the frame before.
pub(super) fn write(
    page: &mut Page<'_>,
    frame: &FrameLocals,
    before: Option<&FrameLocals>,
) -> io::Result<()> {
    /// Columns before a variable; frames have four.
    const BEFORE: usize = 8;
    /// The widest names that others are aligned to.
    const WIDEST_NAME: usize = 24;
    const WIDEST_CLASS: usize = 16;
    let widest = |of: fn(&Local) -> &str, most| {
        let widths = frame.variables.iter().map(|local| width(of(local)));
        widths.filter(|&width| width <= most).max().unwrap_or(0)
    };
    let names = widest(|local| &local.name, WIDEST_NAME);
    let classes = widest(|local| &local.class, WIDEST_CLASS);
    let mut line = Line::default();
    for local in &frame.variables {
        let mut at = BEFORE;
        line.push_spaces(BEFORE);
        for (text, columns) in [(&local.name, names), (&local.class, classes)] {
            line.push(text, GRAY);
            at += columns + 2;
            let gap = at.saturating_sub(line.width()).max(2);
            line.push_spaces(gap);
        }
        line.push(&local.value, Style::PLAIN);
        line.truncate(page.columns);
        page.line(&mut line)?;
    }
    let said = before.and_then(|before| before.missing);
    if let Some(why) = frame.missing.filter(|_| frame.missing != said) {
        line.push_spaces(BEFORE);
        line.push_fmt(format_args!("[{why}]"), GRAY);
        page.line(&mut line)?;
    }
    Ok(())
}

/// Writes the members that a frame has for its variables.
pub(super) fn members(json: &mut Json<'_>, frame: &FrameLocals) {
    json.array("locals", |json| {
        for local in &frame.variables {
            json.row("", |json| {
                json.text("name", &local.name);
                json.text("origin", local.origin);
                json.text_or_null("type", &local.class);
                json.text("value", &local.value);
                json.is("is_hidden", local.is_hidden);
            });
        }
    });
    if let Some(why) = frame.missing {
        json.text("locals_missing", why);
    }
}
