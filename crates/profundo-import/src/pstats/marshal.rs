//! Values of Python's `marshal`, of every version from Python 2.5's to 3.15's: numbers, texts,
//! tuples, lists, sets and dictionaries. Code and whatever else may be in such a file ends it.
//!
//! A value is 16 bytes, and takes at least one byte of the file. What is in a tuple lies in one
//! arena behind what was read before, so a value can never contain itself.

/// A value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value {
    /// `None`, `...`, and what is still being read.
    Nothing,
    Bool(bool),
    Int(i64),
    Float(f64),
    /// Bytes of the file.
    Text(Span),
    /// Values of the arena, of a tuple, a list or a set.
    Items(Span),
    /// Values of the arena: keys and values in turn.
    Pairs(Span),
}

impl Value {
    /// A number that is not negative, of calls.
    pub(super) fn count(self) -> Option<u64> {
        match self {
            Self::Int(number) => Some(number.max(0) as u64),
            // A cast saturates.
            Self::Float(number) if !number.is_nan() => Some(number as u64),
            Self::Bool(is) => Some(u64::from(is)),
            _ => None,
        }
    }

    /// Seconds, in nanoseconds.
    pub(super) fn seconds(self) -> Option<u64> {
        match self {
            Self::Int(seconds) => Some((seconds.max(0) as u64).saturating_mul(1_000_000_000)),
            Self::Float(seconds) => Some((seconds * 1e9).round() as u64),
            _ => None,
        }
    }
}

/// A stretch of the file or of the arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Span {
    pub start: u32,
    pub end: u32,
}

/// The end of the values: its place and its reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stop {
    pub at: usize,
    pub why: &'static str,
}

/// The mark of a value that later ones refer to by its number.
const MARKED: u8 = 0x80;

/// The deepest nesting. A table of calls has five levels.
const DEEPEST: u32 = 24;

/// A reader of values.
#[derive(Debug)]
pub(super) struct Marshal<'a> {
    bytes: &'a [u8],
    at: usize,
    arena: Vec<Value>,
    /// The items of values that are still being read.
    open: Vec<Value>,
    marked: Vec<Value>,
    /// Python 2 numbers its interned texts alone.
    interned: Vec<Value>,
}

impl<'a> Marshal<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            arena: Vec::new(),
            open: Vec::new(),
            marked: Vec::new(),
            interned: Vec::new(),
        }
    }

    /// The offset of the next value.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The items of a value; of a dictionary, its keys and values in turn.
    pub(super) fn items(&self, value: Value) -> &[Value] {
        match value {
            Value::Items(span) | Value::Pairs(span) => {
                let span = span.start as usize..span.end as usize;
                self.arena.get(span).unwrap_or_default()
            }
            _ => &[],
        }
    }

    /// The bytes of a text.
    pub(super) fn text(&self, value: Value) -> Option<&'a [u8]> {
        match value {
            Value::Text(span) => self.bytes.get(span.start as usize..span.end as usize),
            _ => None,
        }
    }

    /// Whether a dictionary begins here. If so, its keys and values are next.
    pub(super) fn begins_dict(&mut self) -> bool {
        match self.bytes.get(self.at) {
            Some(&mark) if mark & !MARKED == b'{' => {
                self.at += 1;
                if mark & MARKED != 0 {
                    self.marked.push(Value::Nothing);
                }
                true
            }
            _ => false,
        }
    }

    /// The next value; `None` at the end of a dictionary.
    pub(super) fn value(&mut self) -> Result<Option<Value>, Stop> {
        self.open.clear();
        self.nested(0)
    }

    fn stop(&self, why: &'static str) -> Stop {
        Stop { at: self.at, why }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Stop> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some(taken) = rest.get(..count) else {
            return Err(self.stop("it ends in the middle of a value"));
        };
        self.at += count;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn length(&mut self) -> Result<usize, Stop> {
        Ok(u32::from_le_bytes(self.array()?) as usize)
    }

    fn short_length(&mut self) -> Result<usize, Stop> {
        let [length] = self.array()?;
        Ok(usize::from(length))
    }

    fn nested(&mut self, depth: u32) -> Result<Option<Value>, Stop> {
        if depth > DEEPEST {
            return Err(self.stop("values are nested too deep"));
        }
        let [mark] = self.array()?;
        let kind = mark & !MARKED;
        // Numbers are given in the order in which values begin.
        let number = (mark & MARKED != 0).then(|| {
            self.marked.push(Value::Nothing);
            self.marked.len() - 1
        });
        let value = match kind {
            b'0' => return Ok(None),
            b'N' | b'S' | b'.' => Value::Nothing,
            b'T' => Value::Bool(true),
            b'F' => Value::Bool(false),
            b'i' => Value::Int(i64::from(i32::from_le_bytes(self.array()?))),
            b'I' => Value::Int(i64::from_le_bytes(self.array()?)),
            b'l' => self.long()?,
            b'g' => Value::Float(f64::from_le_bytes(self.array()?)),
            b'f' => {
                let length = self.short_length()?;
                Value::Float(self.float_text(length)?)
            }
            b's' | b'u' | b'a' => {
                let length = self.length()?;
                self.span(length)?
            }
            b't' | b'A' => {
                let length = self.length()?;
                let text = self.span(length)?;
                if kind == b't' {
                    self.interned.push(text);
                }
                text
            }
            b'z' | b'Z' => {
                let length = self.short_length()?;
                self.span(length)?
            }
            b'R' => {
                let number = self.length()?;
                let text = self.interned.get(number).copied();
                text.ok_or_else(|| self.stop("it refers to a text that it does not have"))?
            }
            b'r' => {
                let number = self.length()?;
                let value = self.marked.get(number).copied();
                value.ok_or_else(|| self.stop("it refers to a value that it does not have"))?
            }
            b'(' | b'[' | b'<' | b'>' => {
                let length = self.length()?;
                self.sequence(length, depth)?
            }
            b')' => {
                let length = self.short_length()?;
                self.sequence(length, depth)?
            }
            b'{' => self.dict(depth)?,
            _ => return Err(self.stop("it has something that is no table of calls")),
        };
        if let Some(marked) = number.and_then(|number| self.marked.get_mut(number)) {
            *marked = value;
        }
        Ok(Some(value))
    }

    fn span(&mut self, length: usize) -> Result<Value, Stop> {
        let start = self.at;
        self.take(length)?;
        self.small(start, self.at).map(Value::Text)
    }

    fn small(&self, start: usize, end: usize) -> Result<Span, Stop> {
        match (u32::try_from(start), u32::try_from(end)) {
            (Ok(start), Ok(end)) => Ok(Span { start, end }),
            _ => Err(self.stop("it has more than 4 GB")),
        }
    }

    /// A number of any size, in digits of 15 bits, the lowest first. One that is too large
    /// saturates.
    fn long(&mut self) -> Result<Value, Stop> {
        let count = i32::from_le_bytes(self.array()?);
        let digits = self.take((count.unsigned_abs() as usize).saturating_mul(2))?;
        let (digits, _) = digits.as_chunks::<2>();
        let sum = digits.iter().rev().try_fold(0_i64, |sum, &digit| {
            let digit = i64::from(u16::from_le_bytes(digit));
            sum.checked_mul(1 << 15)?.checked_add(digit)
        });
        let sum = sum.unwrap_or(i64::MAX);
        Ok(Value::Int(if count < 0 { -sum } else { sum }))
    }

    fn float_text(&mut self, length: usize) -> Result<f64, Stop> {
        let digits = self.take(length)?;
        let number = std::str::from_utf8(digits)
            .ok()
            .and_then(|text| text.parse().ok());
        number.ok_or_else(|| self.stop("it has a number that is none"))
    }

    fn sequence(&mut self, length: usize, depth: u32) -> Result<Value, Stop> {
        let first = self.open.len();
        for _ in 0..length {
            // Each takes at least one byte, so the end of the file ends this.
            let item = self.nested(depth + 1)?.unwrap_or(Value::Nothing);
            self.open.push(item);
        }
        self.close(first).map(Value::Items)
    }

    fn dict(&mut self, depth: u32) -> Result<Value, Stop> {
        let first = self.open.len();
        while let Some(key) = self.nested(depth + 1)? {
            let Some(value) = self.nested(depth + 1)? else {
                break;
            };
            self.open.extend([key, value]);
        }
        self.close(first).map(Value::Pairs)
    }

    fn close(&mut self, first: usize) -> Result<Span, Stop> {
        let start = self.arena.len();
        self.arena.extend(self.open.drain(first..));
        self.small(start, self.arena.len())
    }
}
