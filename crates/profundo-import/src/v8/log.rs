//! The JSON of `node --prof-process --preprocess`: the log of `node --prof` with names.
//!
//! Samples are ticks of V8's own profiler, with pairs of a code and an offset in it, the innermost
//! first. Codes with source positions have lines. The codes stand before the ticks and the sources
//! behind them, so ticks are kept until all is read.

use std::borrow::Cow;

use profundo_model::{Language, LocationId, SampleKind, StackId, State};
use rustc_hash::FxHashMap;

use crate::encoding::json::{Json, Read, first, member, members};
use crate::reader::{Reader, Table};
use crate::{Builder, Error, Named, Row, Source};

pub(crate) const READER: Reader = Reader(&Table {
    name: "v8-log",
    writers: "node --prof-process --preprocess",
    is_start,
    fill,
});

/// The most frames of a tick. V8 has fewer.
const DEEPEST: usize = 4096;

fn is_start(start: &[u8]) -> bool {
    let members = members(start);
    let code = member(&members, "code").and_then(first).map(self::members);
    code.is_some_and(|code| member(&code, "name").is_some() && member(&code, "type").is_some())
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    builder.weighs(SampleKind::Events, "");
    let mut log = Log::default();
    if let Err(damage) = log.read(&mut Json::new(source.bytes)) {
        builder.warn(damage.warning());
    }
    log.give(builder);
    builder.note(
        "ticks of V8's log are numbers of samples; those outside of JavaScript have no callers",
    );
    Ok(())
}

/// The file as far as it was read.
#[derive(Default)]
struct Log<'a> {
    codes: Vec<Code<'a>>,
    functions: Vec<Cow<'a, str>>,
    ticks: Vec<Tick>,
    /// The codes and offsets of all ticks.
    pairs: Vec<(i64, i64)>,
    scripts: Vec<Option<Lines>>,
}

/// Machine code, bytecode, or a library.
#[derive(Default)]
struct Code<'a> {
    name: Cow<'a, str>,
    kind: Cow<'a, str>,
    function: Option<u32>,
    script: Option<u32>,
    /// Offsets in the code, and the places in the source from there on.
    positions: Vec<(i64, u32)>,
}

struct Tick {
    /// In nanoseconds.
    time: i64,
    is_collecting: bool,
    /// The end of its pairs.
    end: usize,
}

/// The starts of a script's lines.
struct Lines(Vec<u32>);

impl<'a> Log<'a> {
    fn read(&mut self, json: &mut Json<'a>) -> Read<()> {
        if !json.enter(b'{')? {
            return Ok(());
        }
        while let Some(key) = json.key()? {
            match &key[..] {
                "code" if json.enter(b'[')? => {
                    while json.element()? {
                        self.codes.push(code(json)?);
                    }
                }
                "functions" if json.enter(b'[')? => {
                    while json.element()? {
                        self.functions.push(name(json)?);
                    }
                }
                "ticks" if json.enter(b'[')? => {
                    while json.element()? {
                        self.tick(json)?;
                    }
                }
                "scripts" if json.enter(b'[')? => {
                    while json.element()? {
                        self.scripts.push(script(json)?);
                    }
                }
                "code" | "functions" | "ticks" | "scripts" => {}
                _ => json.skip()?,
            }
        }
        Ok(())
    }

    fn tick(&mut self, json: &mut Json<'a>) -> Read<()> {
        let (mut time, mut state) = (0, 0);
        let pairs = &mut self.pairs;
        json.object(|json, key| {
            match key {
                "tm" => time = json.decimal(3)?.unwrap_or(0),
                "vm" => state = json.whole()?.unwrap_or(0),
                "s" => {
                    let mut code = None;
                    json.array(|json| {
                        let number = json.whole()?.unwrap_or(-1);
                        match code.take() {
                            Some(code) => pairs.push((code, number)),
                            None => code = Some(number),
                        }
                        Ok(())
                    })?;
                }
                _ => json.skip()?,
            }
            Ok(())
        })?;
        self.ticks.push(Tick {
            time,
            is_collecting: state == 1,
            end: self.pairs.len(),
        });
        Ok(())
    }

    fn give(&self, builder: &mut Builder) {
        let thread = builder.only_thread();
        let mut known: FxHashMap<(i64, u32), LocationId> = FxHashMap::default();
        let collector = builder.location(Named {
            function: "(garbage collector)",
            language: Some(Language::Native),
            ..Named::default()
        });
        let unknown = builder.location(Named {
            function: "(unknown)",
            language: Some(Language::Native),
            ..Named::default()
        });
        let mut start = 0;
        for tick in &self.ticks {
            let pairs = self.pairs.get(start..tick.end).unwrap_or_default();
            start = tick.end;
            let mut stack: Option<StackId> = None;
            if tick.is_collecting {
                stack = Some(builder.stack(None, collector));
            }
            let pairs = &pairs[..pairs.len().min(DEEPEST)];
            for (depth, &(code, offset)) in pairs.iter().enumerate().rev() {
                let is_leaf = depth == 0;
                let row = usize::try_from(code)
                    .ok()
                    .and_then(|code| self.codes.get(code));
                let location = match row {
                    Some(row) => {
                        let line = self.line(row, offset, is_leaf);
                        let known = known.entry((code, line));
                        *known.or_insert_with(|| self.location(row, line, builder))
                    }
                    None if is_leaf => unknown,
                    None => continue,
                };
                stack = Some(builder.stack(stack, location));
            }
            if let Some(stack) = stack {
                builder.sample(Row {
                    stack,
                    thread,
                    weight: 1,
                    samples: 1,
                    time: Some(super::cpu::ZERO.saturating_add_signed(tick.time)),
                    state: State::Running,
                });
            }
        }
    }

    /// The line of an offset in a code; 0 where unknown.
    fn line(&self, code: &Code<'_>, offset: i64, is_leaf: bool) -> u32 {
        let script = code
            .script
            .and_then(|script| self.scripts.get(script as usize));
        let Some(Some(lines)) = script else {
            return 0;
        };
        // A return address stands behind its call.
        let offset = if is_leaf {
            offset
        } else {
            offset.saturating_sub(1)
        };
        let behind = (code.positions).partition_point(|&(at, _)| at <= offset);
        let found = behind.checked_sub(1).and_then(|at| code.positions.get(at));
        found.map_or(0, |&(_, source)| {
            lines.0.partition_point(|&start| start <= source) as u32
        })
    }

    fn location(&self, code: &Code<'_>, line: u32, builder: &mut Builder) -> LocationId {
        let function = code
            .function
            .and_then(|function| self.functions.get(function as usize));
        let name = function.unwrap_or(&code.name);
        match &code.kind[..] {
            "SHARED_LIB" => {
                let module = builder.module(name);
                let frame = builder.frame(Named {
                    function: name.rsplit('/').next().unwrap_or(name),
                    language: Some(Language::Native),
                    ..Named::default()
                });
                builder.location_of(frame, Some(module))
            }
            "JS" => {
                let (function, file, first) = place(name).unwrap_or((name, "", 0));
                builder.location(Named {
                    function: if function.is_empty() {
                        "(anonymous)"
                    } else {
                        function
                    },
                    file: &super::path(file),
                    line: if line > 0 { line } else { first },
                    language: Some(Language::JavaScript),
                    ..Named::default()
                })
            }
            _ => builder.location(Named {
                function: name,
                language: Some(Language::Native),
                ..Named::default()
            }),
        }
    }
}

fn code<'a>(json: &mut Json<'a>) -> Read<Code<'a>> {
    let mut code = Code::default();
    if !json.enter(b'{')? {
        return Ok(code);
    }
    while let Some(key) = json.key()? {
        match &key[..] {
            "name" => code.name = json.text()?.unwrap_or_default(),
            "type" => code.kind = json.text()?.unwrap_or_default(),
            "func" => code.function = json.index()?,
            "source" if json.enter(b'{')? => {
                while let Some(key) = json.key()? {
                    match &key[..] {
                        "script" => code.script = json.index()?,
                        "positions" => {
                            code.positions = positions(&json.text()?.unwrap_or_default())
                        }
                        _ => json.skip()?,
                    }
                }
            }
            "source" => {}
            _ => json.skip()?,
        }
    }
    Ok(code)
}

/// Positions: `C12O345` for the code at 12 of the source at 345. Inlined code (`C12O345I6`) belongs
/// to another function.
fn positions(text: &str) -> Vec<(i64, u32)> {
    let of_code = text.split('C').skip(1).filter(|text| !text.contains('I'));
    let parts = of_code.filter_map(|text| text.split_once('O'));
    parts
        .filter_map(|(at, source)| Some((at.parse().ok()?, source.parse().ok()?)))
        .collect()
}

fn name<'a>(json: &mut Json<'a>) -> Read<Cow<'a, str>> {
    let mut name = Cow::default();
    if json.enter(b'{')? {
        while let Some(key) = json.key()? {
            match &key[..] {
                "name" => name = json.text()?.unwrap_or_default(),
                _ => json.skip()?,
            }
        }
    }
    Ok(name)
}

/// Reads the lines of a script. Positions count the units of UTF-16.
fn script(json: &mut Json<'_>) -> Read<Option<Lines>> {
    let mut lines = None;
    json.object(|json, key| {
        match key {
            "source" => {
                let Some(text) = json.text()? else {
                    return Ok(());
                };
                let mut starts = vec![0];
                let mut at = 0_u32;
                for letter in text.chars() {
                    at = at.saturating_add(letter.len_utf16() as u32);
                    if letter == '\n' {
                        starts.push(at);
                    }
                }
                lines = Some(Lines(starts));
            }
            _ => json.skip()?,
        }
        Ok(())
    })?;
    Ok(lines)
}

/// `f file:///a.js:12:3`.
fn place(name: &str) -> Option<(&str, &str, u32)> {
    // The name or the path may have spaces: paths begin with a slash or a scheme as a rule.
    let at = name
        .find(" /")
        .or_else(|| name.find(" file:"))
        .or_else(|| name.rfind(' '))?;
    let (function, place) = (&name[..at], &name[at + 1..]);
    let (place, _column) = place.rsplit_once(':')?;
    let (file, line) = place.rsplit_once(':')?;
    Some((function, file, line.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_of_inlined_code_are_left_out() {
        assert_eq!(positions("C0O27C57O70I1C70O93"), [(0, 27), (70, 93)]);
    }

    #[test]
    fn functions_have_places() {
        assert_eq!(place("f /a b/c.js:12:3"), Some(("f", "/a b/c.js", 12)));
        assert_eq!(place(" node:fs:1:2"), Some(("", "node:fs", 1)));
        assert_eq!(
            place("get x file:///a.js:1:2"),
            Some(("get x", "file:///a.js", 1))
        );
        assert_eq!(place("native"), None);
    }
}
