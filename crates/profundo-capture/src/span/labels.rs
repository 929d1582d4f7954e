//! Labels: the name of a span with its attributes, and the ways to their numbers.

use std::fmt::{Display, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use profundo_wire::{CleanText, SPAN_SEPARATOR};

use super::thread::ThreadSpans;
use super::{GENERATION, with};

/// A place in the program that enters spans of one name.
#[derive(Debug)]
pub struct Callsite {
    name: &'static str,
    /// The generation, and the number of the label without attributes plus one.
    label: AtomicU64,
}

impl Callsite {
    /// A place for spans of this name.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            label: AtomicU64::new(0),
        }
    }

    /// The name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its address: what distinguishes it from others.
    pub(super) fn key(&'static self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// The label without attributes.
    fn label(&self) -> u32 {
        let generation = GENERATION.load(Ordering::Relaxed);
        let known = self.label.load(Ordering::Relaxed);
        if (known >> 32) as u32 == generation
            && let Some(label) = (known as u32).checked_sub(1)
        {
            return label;
        }
        let label = with(|registry| registry.names().label(&shortened(self.name))).label;
        let word = u64::from(generation) << 32 | u64::from(label + 1);
        self.label.store(word, Ordering::Relaxed);
        label
    }
}

/// The number of a label for a span that this thread is about to enter.
#[inline]
pub(super) fn number(
    spans: &ThreadSpans,
    site: &'static Callsite,
    attributes: &[(&'static str, &dyn Display)],
) -> u32 {
    match attributes {
        [] => site.label(),
        _ => spans.label(site, |text| write_label(text, site.name, attributes)),
    }
}

/// A name with attributes, for the span of a future.
#[derive(Debug, Clone)]
pub struct Label {
    site: &'static Callsite,
    /// The name and the attributes; empty where there are none.
    text: Box<str>,
}

impl Label {
    /// A label with these attributes.
    pub fn new(site: &'static Callsite, attributes: &[(&'static str, &dyn Display)]) -> Self {
        let mut text = String::new();
        if !attributes.is_empty() && super::wants_spans() {
            write_label(&mut text, site.name, attributes);
        }
        Self {
            site,
            text: text.into(),
        }
    }

    pub(super) fn number(&self, spans: &ThreadSpans) -> u32 {
        match self.text.is_empty() {
            true => self.site.label(),
            false => spans.label(self.site, |text| text.push_str(&self.text)),
        }
    }
}

fn write_label(text: &mut String, name: &str, attributes: &[(&'static str, &dyn Display)]) {
    // Writing to a string fails only if a `Display` does: the rest is left out then.
    let _ = write!(CleanText::new(text), "{name}");
    for (key, value) in attributes {
        text.push(SPAN_SEPARATOR);
        let _ = write!(CleanText::new(text), "{key}");
        text.push(SPAN_SEPARATOR);
        let _ = write!(CleanText::new(text), "{value}");
    }
}

/// A text without control characters, and not too long.
pub(super) fn cleaned(text: &dyn Display) -> String {
    let mut out = String::new();
    let _ = write!(CleanText::new(&mut out), "{text}");
    out
}

fn shortened(name: &str) -> String {
    cleaned(&name)
}
