//! Mappings, functions and locations, as the profile's modules, frames and locations.

use std::borrow::Cow;

use profundo_model::{
    Avma, CodeAddress, FrameId, Language, LocationId, LocationKind, ModuleId, Reason,
};

use super::hidden::{Hidden, Hides};
use super::tables::{Line, Location, Tables};
use crate::code::mappings::{Mapped, Mappings, is_kernel_address};
use crate::{Builder, Named, language_of};

/// The locations of a file.
#[derive(Debug)]
pub(super) struct Places {
    rows: Vec<Place>,
    /// Whether readers are to hide frames.
    pub hides: bool,
}

/// A location.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub location: LocationId,
    pub is_kernel: bool,
    /// The part that is hidden with all that it calls.
    pub hides: Hides,
}

impl Places {
    pub(super) fn new(tables: &Tables<'_>, builder: &mut Builder) -> Self {
        let mut mappings = Mappings::default();
        let modules: Vec<Option<ModuleId>> = (tables.mappings.iter())
            .map(|row| {
                let mapped = Mapped {
                    start: row.start,
                    end: row.end,
                    offset: row.offset,
                    path: &tables.text(row.path),
                    build_id: &tables.text(row.build_id),
                };
                mappings.add(builder, mapped)
            })
            .collect();
        let hidden = Hidden::new(tables, builder);
        let mut writing = Writing {
            tables,
            functions: vec![None; tables.functions.len()],
            frames: Vec::new(),
        };
        let mut rows = Vec::with_capacity(tables.locations.len());
        for row in &tables.locations {
            let mut module = tables
                .mapping_of(row)
                .and_then(|at| modules.get(at).copied().flatten());
            let is_kernel = module == mappings.known_kernel() && module.is_some()
                || is_kernel_address(row.address);
            if is_kernel {
                module = Some(mappings.kernel(builder));
            }
            let mut lines: Vec<Line> = tables.lines(row).collect();
            let hides = hidden.part_of(&lines);
            if let Hides::Inlined(count) = hides {
                lines.drain(..count.min(lines.len()));
            }
            rows.push(Place {
                location: writing.location(builder, row, &lines, module),
                is_kernel,
                hides,
            });
        }
        Self {
            hides: rows.iter().any(|row| row.hides != Hides::Nothing),
            rows,
        }
    }

    /// A location that the file does not have.
    pub(super) fn missing(&self, builder: &mut Builder) -> LocationId {
        let missing = LocationKind::Reason(Reason::Broken);
        builder.profile.locations.intern(missing, None)
    }

    #[inline]
    pub(super) fn get(&self, row: usize) -> Option<&Place> {
        self.rows.get(row)
    }
}

/// The texts of a function.
#[derive(Debug, Clone)]
struct Texts<'a> {
    name: Cow<'a, str>,
    signature: Cow<'a, str>,
    file: Cow<'a, str>,
    language: Language,
}

struct Writing<'a> {
    tables: &'a Tables<'a>,
    functions: Vec<Option<Texts<'a>>>,
    frames: Vec<FrameId>,
}

impl Writing<'_> {
    fn location(
        &mut self,
        builder: &mut Builder,
        row: &Location<'_>,
        lines: &[Line],
        module: Option<ModuleId>,
    ) -> LocationId {
        self.frames.clear();
        let mut is_interpreted = false;
        for (number, line) in lines.iter().enumerate() {
            let Some(texts) = self.texts(line.function) else {
                continue;
            };
            is_interpreted |= texts.language == Language::Python;
            let frame = builder.frame(Named {
                function: &texts.name,
                signature: &texts.signature,
                file: &texts.file,
                line: line.line,
                language: Some(texts.language),
                is_inlined: number + 1 < lines.len(),
            });
            self.frames.push(frame);
        }
        let frames = &self.frames[..];
        // Addresses of interpreted code are invented.
        let has_code = row.address != 0 && !is_interpreted;
        if !has_code && !frames.is_empty() {
            return builder.inlined(frames, module);
        }
        if !has_code {
            return unknown(builder, module);
        }
        let address = CodeAddress::Instruction(Avma(row.address));
        let location = builder.address(address, module);
        let known = &builder.profile.locations.get(location).frames;
        if known.is_empty() && !frames.is_empty() {
            builder.profile.locations.set_frames(location, frames);
        } else if **known != *frames && !frames.is_empty() {
            // Several locations with one address.
            return builder.inlined(frames, module);
        }
        location
    }

    /// The texts of a function that has a name or a file.
    fn texts(&mut self, function: Option<usize>) -> Option<&Texts<'_>> {
        let at = function?;
        let slot = self.functions.get_mut(at)?;
        if slot.is_none() {
            let row = self.tables.functions.get(at)?;
            let (name, system_name) = (
                self.tables.text(row.name),
                self.tables.text(row.system_name),
            );
            let (name, system_name) = match (name.is_empty(), system_name) {
                (true, system_name) => (system_name, Cow::Borrowed("")),
                (false, system_name) => (name, system_name),
            };
            // The linker's name says less than the name.
            let has_parameters = system_name.contains(['(', '<', '[']) && system_name != name;
            let file = self.tables.text(row.file);
            *slot = Some(Texts {
                language: language_of(&name, &file),
                signature: if has_parameters {
                    system_name
                } else {
                    Cow::Borrowed("")
                },
                name,
                file,
            });
        }
        slot.as_ref()
            .filter(|texts| !(texts.name.is_empty() && texts.file.is_empty()))
    }
}

/// A place without an address and without a name.
fn unknown(builder: &mut Builder, module: Option<ModuleId>) -> LocationId {
    let frame = builder.frame(Named::default());
    builder.location_of(frame, module)
}
