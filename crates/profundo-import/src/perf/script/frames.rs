//! The lines of a stack, the innermost first: `address symbol+offset (module)`. A function that was
//! inlined has `(inlined)` in place of its module, and stands before the one that it is part of. A
//! source line, where it was asked for, stands below its frame.

use profundo_model::{FrameId, LocationId};
use rustc_hash::FxHashMap;

use super::header::is_frame;
use crate::Builder;
use crate::perf::symbol::{self, Symbol};

/// The most lines of one address. No compiler inlines that deep.
const MOST_LINES: usize = 512;

const INLINED: &[u8] = b"(inlined)";

/// The locations by their functions and modules: the addresses in them say no more.
#[derive(Debug, Default)]
pub(super) struct Places {
    known: FxHashMap<Box<[u8]>, (LocationId, bool)>,
    key: Vec<u8>,
}

impl Places {
    /// The location of some lines of one address, and whether it is the kernel's.
    pub(super) fn location(&mut self, builder: &mut Builder, text: &[u8]) -> (LocationId, bool) {
        self.key.clear();
        for line in text.split(|&byte| byte == b'\n') {
            add_key(&mut self.key, line);
        }
        if let Some(&known) = self.known.get(&self.key[..]) {
            return known;
        }
        let found = parse(builder, text);
        self.known.insert(self.key[..].into(), found);
        found
    }
}

/// Adds what distinguishes a line: all but the address and the offset in the function.
fn add_key(key: &mut Vec<u8>, line: &[u8]) {
    let line = line.trim_ascii();
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit());
    // A source line has none.
    let digits = match digits.count() {
        many if matches!(line.get(many), None | Some(b' ' | b'\t')) => many,
        _ => 0,
    };
    // The upper half of the addresses is the kernel's.
    let is_high = digits == 16 && line[0] >= b'8';
    let rest = &line[digits..];
    let module = memchr::memrchr(b'(', rest).unwrap_or(rest.len());
    let (name, module) = rest.split_at(module);
    let offset = memchr::memrchr(b'+', name);
    let name = match offset.map(|at| name.split_at(at)) {
        Some((before, offset)) if is_offset(offset.trim_ascii_end()) => before,
        _ => name,
    };
    key.extend_from_slice(name);
    key.push(if is_high { b'\x01' } else { b'\n' });
    key.extend_from_slice(module);
}

/// Whether it is `+0x12`.
fn is_offset(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"+0x");
    digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
}

/// The number of lines from the end that are one address: a frame, its source line, and the
/// functions that are inlined into it.
pub(super) fn lines_of_last(text: &[u8], lines: &[(usize, usize)]) -> usize {
    let mut first = lines.len().saturating_sub(1);
    while first > 0 {
        let line = |at: usize| &text[lines[at].0..lines[at].1];
        let goes_on = line(first - 1).ends_with(INLINED) || !starts_frame(line(first));
        if !goes_on {
            break;
        }
        first -= 1;
    }
    lines.len() - first
}

/// Whether a line of a stack is a frame, not the source line of the frame above.
fn starts_frame(line: &[u8]) -> bool {
    if line.starts_with(b"\t") {
        return true;
    }
    let line = line.trim_ascii();
    is_frame(line) || line.iter().all(u8::is_ascii_hexdigit)
}

fn parse(builder: &mut Builder, text: &[u8]) -> (LocationId, bool) {
    let text = String::from_utf8_lossy(text);
    let mut symbols: Vec<Symbol<'_>> = Vec::new();
    for line in text.lines().take(MOST_LINES) {
        match symbols.last_mut() {
            Some(symbol) if !starts_frame(line.as_bytes()) => give_place(symbol, line.trim()),
            _ => symbols.push(frame(line.trim())),
        }
    }
    let Some(function) = symbols.last_mut() else {
        return (symbol::location(builder, &[], None, 0), false);
    };
    function.is_inlined = false;
    let function = *function;
    let module = function.module(builder);
    let frames: Vec<FrameId> = symbols.iter().map(|symbol| symbol.frame(builder)).collect();
    let location = symbol::location(builder, &frames, module, function.address);
    (location, function.is_kernel())
}

/// `address symbol+offset (module)`.
pub(super) fn frame(line: &str) -> Symbol<'_> {
    let (address, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    let mut symbol = Symbol {
        address: u64::from_str_radix(address, 16).unwrap_or(0),
        ..Symbol::default()
    };
    let mut name = rest.trim();
    if let Some(rest) = name.strip_suffix("(inlined)") {
        symbol.is_inlined = true;
        name = rest.trim_end();
    } else if let Some(open) = module(name) {
        symbol.module = without_offset(&name[open + 1..name.len() - 1]);
        name = name[..open].trim_end();
    }
    let name = without_offset(name);
    symbol.name = if name == "[unknown]" { "" } else { name };
    symbol
}

/// The bracket before the module: the one that belongs to the last one of the line. A module may
/// have some itself: `(/tmp/x (deleted))`.
fn module(text: &str) -> Option<usize> {
    if !text.ends_with(')') {
        return None;
    }
    let mut depth = 0_usize;
    let bytes = text.as_bytes();
    let mut open = None;
    for at in (0..bytes.len()).rev() {
        match bytes[at] {
            b')' => depth += 1,
            b'(' if depth <= 1 => {
                open = Some(at);
                break;
            }
            b'(' => depth -= 1,
            _ => {}
        }
    }
    // The parameters of a function follow it at once.
    open.filter(|&open| open == 0 || bytes[open - 1] == b' ')
}

/// A name without `+0x12`.
fn without_offset(name: &str) -> &str {
    match name.rsplit_once("+0x") {
        Some((start, digits)) if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => start,
        _ => name,
    }
}

/// `file:line`, or `file:line (inlined)`.
fn give_place<'a>(symbol: &mut Symbol<'a>, text: &'a str) {
    let mut place = text;
    if let Some(rest) = text.strip_suffix("(inlined)") {
        symbol.is_inlined = true;
        place = rest.trim_end();
    }
    if let Some((file, line)) = place.rsplit_once(':')
        && let Ok(line) = line.parse()
        && file != "??"
    {
        (symbol.file, symbol.line) = (file, line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &str) {
        let found = frame(line);
        let mark = if found.is_inlined { " inlined" } else { "" };
        let shown = format!("{:x}|{}|{}{mark}", found.address, found.name, found.module);
        assert_eq!(shown, expected, "{line}");
    }

    #[test]
    fn names_and_modules_may_have_brackets_and_spaces() {
        check("127c leaf+0x2c (/tmp/a b/work)", "127c|leaf|/tmp/a b/work");
        check("1 f (/memfd:x (deleted))", "1|f|/memfd:x (deleted)");
        check(
            "1711 std::_Function_handler<unsigned long (long), main::{lambda(long)#1}>::_M_invoke+0x41 (/a (1)/b)",
            "1711|std::_Function_handler<unsigned long (long), main::{lambda(long)#1}>::_M_invoke|/a (1)/b",
        );
        check("1 operator()(int)+0x1 (/x)", "1|operator()(int)|/x");
        check("1 operator()(int)", "1|operator()(int)|");
        check("1 outer+0x36 (inlined)", "1|outer| inlined");
        check("7f00 [unknown] ([unknown])", "7f00||[unknown]");
        check("7f00 [unknown] (/x+0x10)", "7f00||/x");
        check("7f00", "7f00||");
        check("", "0||");
        check(") (", "0|(|");
    }

    #[test]
    fn source_lines_and_inlined_functions_belong_to_their_frame() {
        let text = b"\t 1 a (/x)\n\t 2 b\n  b.c:3 (inlined)\n\t 2 c (/x)\n  c.c:4\n\t 3 d (/x)";
        let mut lines = Vec::new();
        let mut at = 0;
        for line in text.split(|&byte| byte == b'\n') {
            lines.push((at, at + line.len()));
            at += line.len() + 1;
        }
        assert_eq!(lines_of_last(text, &lines), 1);
        assert_eq!(lines_of_last(text, &lines[..5]), 4);
        assert_eq!(lines_of_last(text, &lines[..1]), 1);
        assert_eq!(lines_of_last(text, &[]), 0);
    }
}
