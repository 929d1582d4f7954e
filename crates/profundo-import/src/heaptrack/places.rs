//! Strings, addresses and stacks.

use std::borrow::Cow;

use profundo_model::{Avma, CodeAddress, LocationId, ModuleId, StackId};
use rustc_hash::FxHashMap;

use super::Words;
use crate::{Builder, Named};

/// The tables that stacks are made of.
#[derive(Debug, Default)]
pub(super) struct Places<'a> {
    format: u64,
    strings: Vec<&'a [u8]>,
    addresses: Vec<LocationId>,
    stacks: Vec<StackId>,
    /// Of a file that was not interpreted.
    executable: &'a [u8],
    modules: Vec<(u64, u64, ModuleId)>,
    raw: FxHashMap<u64, LocationId>,
    pub is_raw: bool,
}

impl<'a> Places<'a> {
    /// Adds the string at the start of `rest`, and returns the length of its line.
    pub(super) fn string(&mut self, rest: &'a [u8]) -> Option<usize> {
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = &rest[..end];
        let mut words = Words(line.get(2..).unwrap_or_default());
        if self.format < 3 {
            self.strings.push(words.0);
            return None;
        }
        // A name may hold the end of a line.
        let length = words
            .number()
            .and_then(|length| usize::try_from(length).ok());
        let start = end - words.0.len();
        let text = length.and_then(|length| rest.get(start..start.checked_add(length)?));
        match text {
            Some(text) if text.len() >= words.0.len() => {
                self.strings.push(text);
                Some(start + text.len() + 1)
            }
            _ => {
                self.strings.push(words.0);
                None
            }
        }
    }

    fn text(&self, row: u64) -> Cow<'a, str> {
        let row = usize::try_from(row).ok().and_then(|row| row.checked_sub(1));
        let text = row.and_then(|row| self.strings.get(row));
        text.map_or("".into(), |text| String::from_utf8_lossy(text))
    }

    /// The stack of a row.
    pub(super) fn stack(&self, row: u64) -> Option<StackId> {
        let row = usize::try_from(row).ok()?.checked_sub(1)?;
        self.stacks.get(row).copied()
    }

    pub(super) fn line(
        &mut self,
        builder: &mut Builder,
        kind: u8,
        mut words: Words<'a>,
    ) -> Option<()> {
        match kind {
            b'v' => {
                words.number()?;
                self.format = words.number()?;
            }
            b'i' => {
                let location = self.address(builder, words)?;
                self.addresses.push(location);
            }
            b't' => {
                let address = words.number()?;
                let parent = self.stack(words.number()?);
                let location = match self.is_raw {
                    true => self.raw(builder, address),
                    false => {
                        let row = usize::try_from(address).ok()?.checked_sub(1)?;
                        *self.addresses.get(row)?
                    }
                };
                self.stacks.push(builder.stack(parent, location));
            }
            b'x' => {
                self.is_raw = true;
                self.executable = sized(&mut words, self.format)?;
            }
            b'm' => self.module(builder, words)?,
            _ => {}
        }
        Some(())
    }

    /// An interpreted address: its module, and its functions with their places.
    fn address(&self, builder: &mut Builder, mut words: Words<'a>) -> Option<LocationId> {
        let address = words.number()?;
        let module = self.text(words.number()?);
        let module = (!module.is_empty()).then(|| builder.module(&module));
        let mut frames = Vec::new();
        while !words.0.is_empty() {
            let function = self.text(words.number()?);
            let file = match words.0.is_empty() {
                true => "".into(),
                false => self.text(words.number()?),
            };
            let line = match words.0.is_empty() {
                true => 0,
                false => u32::try_from(words.number()?).unwrap_or(0),
            };
            frames.push((function, file, line));
        }
        if frames.is_empty() {
            frames.push(("".into(), "".into(), 0));
        }
        let last = frames.len() - 1;
        let frames: Vec<_> = (frames.into_iter().enumerate())
            .map(|(at, (function, file, line))| {
                let function = match &function[..] {
                    "" => format!("{address:#x}").into(),
                    _ => function,
                };
                builder.frame(Named {
                    function: &function,
                    file: &file,
                    line,
                    is_inlined: at < last,
                    ..Named::default()
                })
            })
            .collect();
        Some(builder.inlined(&frames, module))
    }

    /// An address that has no name yet.
    fn raw(&mut self, builder: &mut Builder, address: u64) -> LocationId {
        if let Some(&known) = self.raw.get(&address) {
            return known;
        }
        let mut modules = self.modules.iter().rev();
        let module = modules.find(|(start, end, _)| (*start..*end).contains(&address));
        let module = module.map(|&(.., module)| module);
        let location = builder.address(CodeAddress::Return(Avma(address)), module);
        self.raw.insert(address, location);
        location
    }

    /// `path base (offset size)…`; `-` clears the list.
    fn module(&mut self, builder: &mut Builder, mut words: Words<'a>) -> Option<()> {
        self.is_raw = true;
        let path = sized(&mut words, self.format)?;
        if path == b"-" {
            self.modules.clear();
            // What lies at an address may be another module's from now on.
            self.raw.clear();
            return Some(());
        }
        let path = if path == b"x" { self.executable } else { path };
        let base = words.number()?;
        let id = builder.module(&String::from_utf8_lossy(path));
        let row = builder.profile.modules.get_mut(id);
        row.bias = base;
        while !words.0.is_empty() {
            let start = base.saturating_add(words.number()?);
            let end = start.saturating_add(words.number()?);
            let is_first = row.end.0 == 0;
            row.start.0 = if is_first {
                start
            } else {
                row.start.0.min(start)
            };
            row.end.0 = row.end.0.max(end);
            self.modules.push((start, end, id));
        }
        Some(())
    }
}

/// A string inside of a line.
fn sized<'a>(words: &mut Words<'a>, format: u64) -> Option<&'a [u8]> {
    if format < 3 {
        return Some(words.word());
    }
    let length = usize::try_from(words.number()?).ok()?;
    let (text, rest) = words.0.split_at_checked(length)?;
    words.0 = rest.get(1..).unwrap_or_default();
    Some(text)
}
