//! The tables of a thread, or those that all threads share in newer files, and the stacks in them.

use std::borrow::Cow;

use profundo_model::{Avma, CodeAddress, Language, LocationId, ModuleId, StackId};

use super::table::{Table, index};
use crate::encoding::json::{Json, Read};
use crate::{Builder, Named, language_of};

/// The most frames of a stack. Deeper ones are cut at their leaf's end.
const DEEPEST: usize = 4096;

/// The most libraries that an address is looked up in.
const MOST_LIBS: usize = 4096;

/// The tables behind the stacks.
#[derive(Debug, Default)]
pub(super) struct Tables<'a> {
    pub stacks: Table,
    pub frames: Table,
    functions: Table,
    resources: Table,
    sources: Table,
    strings: Vec<Cow<'a, str>>,
}

/// A file that was mapped.
#[derive(Debug)]
pub(super) struct Lib {
    pub module: ModuleId,
    /// Its addresses in memory, in files of Firefox itself.
    pub start: u64,
    pub end: u64,
}

impl<'a> Tables<'a> {
    /// Reads one of the tables; `false` for another key.
    pub(super) fn read(&mut self, key: &str, json: &mut Json<'a>) -> Read<bool> {
        match key {
            "stackTable" => self
                .stacks
                .read(json, &["frame", "prefix", "prefixOffset", "category"])?,
            "frameTable" => self.frames.read(
                json,
                &[
                    "func",
                    "line",
                    "address",
                    "inlineDepth",
                    "category",
                    "lib",
                    "location",
                ],
            )?,
            "funcTable" => self.functions.read(
                json,
                &[
                    "name",
                    "isJS",
                    "fileName",
                    "source",
                    "lineNumber",
                    "resource",
                ],
            )?,
            "resourceTable" => self.resources.read(json, &["lib"])?,
            "sources" => self.sources.read(json, &["filename"])?,
            "stringArray" | "stringTable" => {
                if json.enter(b'[')? {
                    while json.element()? {
                        self.strings.push(json.text()?.unwrap_or_default());
                    }
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Whether the stacks are here, and not in the tables that threads share.
    pub(super) fn has_stacks(&self) -> bool {
        self.stacks.is_any()
    }

    fn text(&self, index: Option<usize>) -> &str {
        index
            .and_then(|index| self.strings.get(index))
            .map_or("", |text| text)
    }
}

/// The tables of a thread over the shared ones.
#[derive(Clone, Copy)]
pub(super) struct View<'t, 'a> {
    pub own: &'t Tables<'a>,
    pub shared: &'t Tables<'a>,
    pub libs: &'t [Lib],
}

impl<'t, 'a> View<'t, 'a> {
    pub(super) fn pick(&self, table: for<'b> fn(&'b Tables<'a>) -> &'b Table) -> &'t Table {
        let own = table(self.own);
        if own.is_any() {
            own
        } else {
            table(self.shared)
        }
    }

    fn text(&self, index: Option<usize>) -> &str {
        match self.own.strings.is_empty() {
            true => self.shared.text(index),
            false => self.own.text(index),
        }
    }

    /// The stack of each row of the table.
    pub(super) fn stacks(&self, builder: &mut Builder) -> Vec<Option<StackId>> {
        // Not `pick` for each cell: that looks for columns by name.
        let table = self.pick(|tables| &tables.stacks);
        let frames = table.column("frame");
        let (prefixes, offsets) = (table.column("prefix"), table.column("prefixOffset"));
        let mut locations: Vec<Option<LocationId>> = Vec::new();
        let mut stacks: Vec<(Option<StackId>, usize)> = Vec::with_capacity(frames.len());
        for row in 0..frames.len() {
            let before = match index(offsets, row) {
                Some(0) => None,
                Some(offset) => row.checked_sub(offset),
                None => index(prefixes, row),
            };
            // Parents stand before their children.
            let (parent, depth) = before
                .and_then(|before| stacks.get(before).copied())
                .unwrap_or_default();
            let frame = index(frames, row);
            let location = frame.and_then(|frame| match locations.get(frame) {
                Some(Some(known)) => Some(*known),
                _ => {
                    let location = self.location(frame, builder)?;
                    if locations.len() <= frame {
                        locations.resize(frame + 1, None);
                    }
                    locations[frame] = Some(location);
                    Some(location)
                }
            });
            stacks.push(match location {
                Some(location) if depth < DEEPEST => {
                    (Some(builder.stack(parent, location)), depth + 1)
                }
                _ => (parent, depth),
            });
        }
        stacks.into_iter().map(|(stack, _)| stack).collect()
    }

    /// The location of a frame; `None` for one that the table does not have.
    fn location(&self, frame: usize, builder: &mut Builder) -> Option<LocationId> {
        let frames = self.pick(|tables| &tables.frames);
        let line = frames.index("line", frame);
        if let Some(place) = frames.index("location", frame) {
            return Some(self.of_firefox(self.text(Some(place)), line, builder));
        }
        let function = frames.index("func", frame)?;
        let functions = self.pick(|tables| &tables.functions);
        let name = self.text(functions.index("name", function));
        let file = match functions.index("source", function) {
            Some(source) => {
                let sources = self.pick(|tables| &tables.sources);
                sources.index("filename", source)
            }
            None => functions.index("fileName", function),
        };
        let file = plain_path(self.text(file));
        let lib = match frames.index("lib", frame) {
            Some(lib) => Some(lib),
            None => {
                let resource = functions.index("resource", function);
                let resources = self.pick(|tables| &tables.resources);
                resource.and_then(|resource| resources.index("lib", resource))
            }
        };
        let module = lib.and_then(|lib| self.libs.get(lib)).map(|lib| lib.module);
        if is_address(name)
            && let (Some(address), Some(_)) = (frames.index("address", frame), module)
        {
            let address = CodeAddress::Instruction(Avma(address as u64));
            return Some(builder.address(address, module));
        }
        let is_js = functions.index("isJS", function) == Some(1);
        let line = line.or_else(|| functions.index("lineNumber", function));
        let frame = builder.frame(Named {
            function: name,
            file,
            line: line.and_then(|line| u32::try_from(line).ok()).unwrap_or(0),
            language: Some(match is_js {
                true => Language::JavaScript,
                false => language_of(name, file),
            }),
            is_inlined: frames.index("inlineDepth", frame) > Some(0),
            ..Named::default()
        });
        Some(builder.location_of(frame, module))
    }

    /// The location of a frame in Firefox's own words: `f (file.js:12:3)`, an address, or a label.
    fn of_firefox(&self, text: &str, line: Option<usize>, builder: &mut Builder) -> LocationId {
        if is_address(text)
            && let Ok(address) = u64::from_str_radix(&text[2..], 16)
        {
            let is_in = |lib: &&Lib| (lib.start..lib.end).contains(&address);
            let mut libs = self.libs.iter().take(MOST_LIBS);
            let module = libs.find(is_in).map(|lib| lib.module);
            return builder.address(CodeAddress::Return(Avma(address)), module);
        }
        let (function, file, line_in_text) = place(text).unwrap_or((text, "", 0));
        let language = match file.is_empty() {
            true => language_of(function, file),
            false => Language::JavaScript,
        };
        let line = line.and_then(|line| u32::try_from(line).ok());
        builder.location(Named {
            function,
            file,
            line: line.unwrap_or(line_in_text),
            language: Some(language),
            ..Named::default()
        })
    }
}

/// Whether a name is an address.
fn is_address(name: &str) -> bool {
    name.strip_prefix("0x").is_some_and(|digits| {
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// `f (file.js:12:3)` or `f (file.js:12)`, and the same without a function for a script itself.
/// The number of a source in brackets may follow. Native names may end with `(in LIBRARY)`.
fn place(text: &str) -> Option<(&str, &str, u32)> {
    let text = match text
        .strip_suffix(']')
        .and_then(|text| text.rsplit_once('['))
    {
        Some((text, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => text,
        _ => text,
    };
    if let Some((function, _)) = text.split_once(" (in ") {
        return Some((function, "", 0));
    }
    let named = || {
        let (function, place) = text.strip_suffix(')')?.rsplit_once(" (")?;
        Some((function, place))
    };
    let (function, place) = match named() {
        Some(parts) => parts,
        None if text.contains("://") => ("(root scope)", text),
        None => return None,
    };
    let (before, last) = place.rsplit_once(':')?;
    let last = last.parse().ok()?;
    if let Some((file, line)) = before.rsplit_once(':')
        && let Ok(line) = line.parse()
    {
        return Some((function, file, line));
    }
    Some((function, before, last))
}

/// The path in a name such as `hg:hg.mozilla.org/mozilla-central:dom/x.cpp:0123abcd`.
fn plain_path(file: &str) -> &str {
    let mut parts = file.split(':');
    let is_stored = matches!(parts.next(), Some("hg" | "git" | "s3"));
    match (parts.next(), parts.next()) {
        (Some(_), Some(path)) if is_stored => path,
        _ => file,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_taken_apart() {
        assert_eq!(
            place("f/g (https://x:80/a.js:12:3)"),
            Some(("f/g", "https://x:80/a.js", 12))
        );
        assert_eq!(place("f (a.js:12)[7]"), Some(("f", "a.js", 12)));
        let script = Some(("(root scope)", "resource://a/b.mjs", 12));
        assert_eq!(place("resource://a/b.mjs:12:4"), script);
        assert_eq!(place("Extension:EmitEvent:5"), None);
        assert_eq!(place("f(int) (in libx) + 12"), Some(("f(int)", "", 0)));
        assert_eq!(place("(root)"), None);
        assert_eq!(
            plain_path("git:github.com/rust-lang/rust:library/std/a.rs:0123"),
            "library/std/a.rs"
        );
        assert_eq!(plain_path("C:/a.c"), "C:/a.c");
        assert!(is_address("0x1f") && !is_address("0x") && !is_address("0xg"));
    }
}
