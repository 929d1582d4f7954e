//! The picture's data for the script: tables as JSON, boxes as numbers of variable length.
//!
//! A box is a row of numbers of 7 bits to a byte, the lowest first, the top bit set where more
//! follow; all boxes together are written in base64:
//!
//! ```text
//! box   = up frame gap width own count [weight] [gap width own class]
//! up    = levels from one below the box before up to this one: 0 is its callee, 1 its sibling
//! gap   = from the end of the sibling before, or from the start of the caller
//! own   = 0: all of it; 1: nothing; else one more than the amount
//! weight           where width is a duration (pictures in the order of time)
//! gap width own class   in the recording before (comparisons)
//! ```
//!
//! Widths are in parts of `scale`, and amounts in parts of `part`, so that numbers stay short. Both
//! are 1 up to a span of 2^30; beyond, a place is off by less than a billionth of the span.

use std::io::{self, Write};

use super::super::json;
use super::super::text::plain;
use super::picture::{FOLDED, Node, Picture};

/// The resolution: the whole is divided into so many parts at most.
const PARTS: f64 = (1_u64 << 30) as f64;

/// Writes the data as JSON that can stand in a CDATA section.
pub(super) fn write(picture: &Picture, out: &mut impl Write) -> io::Result<()> {
    let text = text(picture)?;
    out.write_all(text.replace("]]>", "]]\\u003e").as_bytes())
}

fn text(picture: &Picture) -> io::Result<String> {
    let mut out = Vec::new();
    let amounts = &picture.amounts;
    let scale = (picture.span as f64 / PARTS).max(1.0);
    let part = (amounts.total as f64 / PARTS).max(1.0);
    write!(
        out,
        "{{\"unit\":\"{}\",\"total\":{},\"count\":{},\"traced\":{},\"few\":{},\"span\":{},\"origin\":{},\"timed\":{},\"compared\":{},\"icicle\":{},\"folded\":{FOLDED},\"scale\":{scale:?},\"part\":{part:?},\"samples\":",
        amounts.unit.name(),
        amounts.total,
        amounts.count,
        amounts.is_traced,
        amounts.is_few,
        picture.span,
        picture.origin,
        picture.is_timed,
        !picture.before.is_empty(),
        picture.is_icicle,
    )?;
    match amounts.samples.filter(|samples| samples.is_finite()) {
        Some(samples) => write!(out, "{samples:?}")?,
        None => out.write_all(b"null")?,
    }
    out.write_all(b",\n\"lanes\":[")?;
    list(&mut out, &picture.lanes, |out, lane| {
        let (from, to) = (lane.from, lane.to);
        write!(out, "[{from},{to},{},{},", lane.is_before, lane.folds_below)?;
        string(out, &lane.label)?;
        out.push(b']');
        Ok(())
    })?;
    out.write_all(b"],\n\"names\":[")?;
    list(&mut out, &picture.frames.names, |out, name| {
        string(out, name)
    })?;
    out.write_all(b"],\n\"files\":[")?;
    list(&mut out, &picture.frames.files, |out, file| {
        string(out, file)
    })?;
    out.write_all(b"],\n\"frames\":[")?;
    list(&mut out, &picture.frames.rows, |out, frame| {
        let (first, last) = frame.lines;
        write!(out, "{},{},{first},{last}", frame.name, frame.file)
    })?;
    out.write_all(b"],\n\"looks\":[")?;
    list(&mut out, &picture.looks, |out, look| {
        let (name, letter) = (look.name, look.fills.letter());
        write!(out, "[\"{name}\",\"{letter}\",[")?;
        list(out, &look.legend, |out, (row, words)| {
            write!(out, "[{row},")?;
            string(out, words)?;
            out.push(b']');
            Ok(())
        })?;
        // A letter for each frame, from `0` on.
        let classes = look.classes.iter().map(|class| char::from(b'0' + class));
        out.write_all(b"],")?;
        string(out, &classes.collect::<String>())?;
        out.push(b']');
        Ok(())
    })?;
    out.write_all(b"],\n\"nodes\":\"")?;
    out.extend(base64(&nodes(picture, scale, part)));
    out.write_all(b"\"}\n")?;
    String::from_utf8(out).map_err(io::Error::other)
}

fn string(out: &mut Vec<u8>, text: &str) -> io::Result<()> {
    let text: String = text.chars().map(plain).collect();
    json::string(out, &text)
}

/// Items with commas between them.
fn list<T>(
    out: &mut Vec<u8>,
    items: &[T],
    mut item: impl FnMut(&mut Vec<u8>, &T) -> io::Result<()>,
) -> io::Result<()> {
    for (index, one) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        item(out, one)?;
    }
    Ok(())
}

/// The ends of the path to the current box, in parts, by level.
#[derive(Debug, Default)]
struct Ends {
    /// Where the next callee of each level's box begins.
    next: Vec<u64>,
}

impl Ends {
    /// The gap and the width of a box.
    fn place(&mut self, scale: f64, level: u32, start: u64, width: u64) -> (u64, u64) {
        let level = level as usize;
        let part = |at: u64| (at as f64 / scale).round() as u64;
        let (start, end) = (part(start), part(start.saturating_add(width)));
        if level == 0 {
            // A lane begins.
            self.next = vec![0];
        }
        self.next.truncate(level + 1);
        let from = self.next.last().copied().unwrap_or_default();
        if let Some(last) = self.next.last_mut() {
            *last = end.max(from);
        }
        let start = start.max(from);
        self.next.push(start);
        (start - from, end.saturating_sub(start))
    }
}

fn nodes(picture: &Picture, scale: f64, part: f64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(picture.nodes.len() * 12);
    let (mut after, mut before) = (Ends::default(), Ends::default());
    let mut above = 0;
    let amount = |amount: u64| (amount as f64 / part).round() as u64;
    for (index, node) in picture.nodes.iter().enumerate() {
        let Node { level, weight, .. } = *node;
        let (gap, width) = after.place(scale, level, node.start, node.width);
        number(&mut bytes, u64::from(above - level.min(above)));
        number(&mut bytes, u64::from(node.frame));
        number(&mut bytes, gap);
        number(&mut bytes, width);
        number(&mut bytes, own(node.own, weight, amount));
        number(&mut bytes, node.count);
        if picture.is_timed {
            number(&mut bytes, amount(weight));
        }
        if let Some(then) = picture.before.get(index) {
            let (gap, width) = before.place(scale, level, then.start, then.width);
            number(&mut bytes, gap);
            number(&mut bytes, width);
            number(&mut bytes, own(then.own, then.width, amount));
            number(&mut bytes, u64::from(node.class));
        }
        above = level + 1;
    }
    bytes
}

fn own(own: u64, weight: u64, amount: impl Fn(u64) -> u64) -> u64 {
    match own {
        all if all == weight => 0,
        0 => 1,
        some => amount(some) + 1,
    }
}

fn number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 128 {
        bytes.push((number % 128) as u8 | 128);
        number /= 128;
    }
    bytes.push(number as u8);
}

fn base64(bytes: &[u8]) -> Vec<u8> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let at = |index: usize| u32::from(three.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            text.push(match place <= three.len() {
                true => LETTERS[(bits >> (18 - 6 * place) & 63) as usize],
                false => b'=',
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_as_in_rfc_4648() {
        let rows = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ];
        for (plain, encoded) in rows {
            assert_eq!(base64(plain.as_bytes()), encoded.as_bytes());
        }
    }

    #[test]
    fn gaps_are_from_the_sibling_or_the_caller() {
        let mut ends = Ends::default();
        let rows = [
            ((0, 0, 100), (0, 100)),
            ((1, 10, 50), (10, 50)),
            ((2, 10, 20), (0, 20)),
            ((2, 40, 20), (10, 20)),
            ((1, 60, 40), (0, 40)),
            // The next lane.
            ((0, 0, 100), (0, 100)),
        ];
        for ((level, start, width), expected) in rows {
            assert_eq!(ends.place(1.0, level, start, width), expected);
        }
    }
}
