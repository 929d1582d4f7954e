//! A stack machine for Python's pickles, of all protocols from 0 to 5. It knows values as data
//! alone: a class is its name, a call is a note of the class and its arguments, and nothing is ever
//! imported or executed.
//!
//! Each instruction takes at least one byte of the file and adds at most a few dozen bytes.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

pub(super) use super::words::Stop;
use super::words::Words;

/// A value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value {
    Nothing,
    Int(i64),
    Float(f64),
    /// A row of the texts.
    Text(u32),
    /// A class or a function by its name: a row of the texts, `module.name`.
    Class(u32),
    /// A row of the lists, of a tuple, a list or a set.
    Items(u32),
    /// A row of the lists, with keys and values in turn.
    Pairs(u32),
    /// A row of the objects.
    Object(u32),
}

/// The result of a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Object {
    pub class: Value,
    /// What `__setstate__` would be called with.
    pub state: Value,
    /// What is put into it like into a dictionary or a list.
    items: u32,
}

/// The machine.
#[derive(Debug)]
pub(super) struct Machine<'a> {
    words: Words<'a>,
    pub stack: Vec<Value>,
    marks: Vec<usize>,
    memo: FxHashMap<u64, Value>,
    texts: Vec<Cow<'a, str>>,
    lists: Vec<Vec<Value>>,
    objects: Vec<Object>,
}

impl<'a> Machine<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            words: Words::new(bytes),
            stack: Vec::new(),
            marks: Vec::new(),
            memo: FxHashMap::default(),
            texts: Vec::new(),
            lists: Vec::new(),
            objects: Vec::new(),
        }
    }

    /// The value of the whole pickle.
    pub(super) fn run(&mut self) -> Result<Value, Stop> {
        loop {
            if !self.step()? {
                return self.pop();
            }
        }
    }

    /// Whether a class of this description comes within so many steps.
    pub(super) fn meets_class(&mut self, steps: u32, is_meant: fn(&str) -> bool) -> bool {
        for _ in 0..steps {
            if !matches!(self.step(), Ok(true)) {
                return false;
            }
            if let Some(&Value::Class(row)) = self.stack.last()
                && self
                    .texts
                    .get(row as usize)
                    .is_some_and(|name| is_meant(name))
            {
                return true;
            }
        }
        false
    }

    pub(super) fn text(&self, value: Value) -> Option<&str> {
        match value {
            Value::Text(row) | Value::Class(row) => {
                self.texts.get(row as usize).map(|text| &**text)
            }
            _ => None,
        }
    }

    /// The items of a tuple or a list.
    pub(super) fn items(&self, value: Value) -> &[Value] {
        match value {
            Value::Items(row) => self.lists.get(row as usize).map_or(&[], |list| list),
            Value::Object(row) => match self.objects.get(row as usize) {
                Some(object) => self.items(Value::Items(object.items)),
                None => &[],
            },
            _ => &[],
        }
    }

    /// The keys and values of a dictionary, or of an object that behaves like one.
    pub(super) fn pairs(&self, value: Value) -> &[[Value; 2]] {
        let items = match value {
            Value::Pairs(row) => self.items(Value::Items(row)),
            Value::Object(_) => self.items(value),
            _ => &[],
        };
        items.as_chunks::<2>().0
    }

    /// The value of a dictionary at a text.
    pub(super) fn at(&self, dict: Value, key: &str) -> Option<Value> {
        let pairs = self.pairs(dict).iter();
        let mut at = pairs.filter(|[name, _]| self.text(*name) == Some(key));
        at.next_back().map(|&[_, value]| value)
    }

    pub(super) fn object(&self, value: Value) -> Option<Object> {
        match value {
            Value::Object(row) => self.objects.get(row as usize).copied(),
            _ => None,
        }
    }

    /// One instruction; `false` for the last one.
    fn step(&mut self) -> Result<bool, Stop> {
        let code = self.words.byte()?;
        match code {
            b'.' => return Ok(false),
            0x80 => drop(self.words.take(1)?),
            // Frames and buffers are only for speed.
            0x95 => drop(self.words.take(8)?),
            0x98 => {}
            b'(' => self.marks.push(self.stack.len()),
            b'0' => match self.marks.last() {
                Some(&mark) if mark == self.stack.len() => drop(self.marks.pop()),
                _ => drop(self.pop()?),
            },
            b'1' => drop(self.above_mark()?),
            b'2' => {
                let top = self.top()?;
                self.stack.push(top);
            }
            b'N' => self.stack.push(Value::Nothing),
            0x88 => self.stack.push(Value::Int(1)),
            0x89 => self.stack.push(Value::Int(0)),
            b'K' | b'M' | b'J' | b'I' | b'L' | 0x8a | 0x8b => {
                let number = self.words.int(code)?;
                self.stack.push(Value::Int(number));
            }
            b'F' | b'G' => {
                let number = self.words.float(code)?;
                self.stack.push(Value::Float(number));
            }
            b'S' | b'V' | b'T' | b'U' | b'X' | b'B' | b'C' | 0x8c | 0x8d | 0x8e | 0x96 => {
                let text = self.words.text(code)?;
                let text = self.add_text(text);
                self.stack.push(Value::Text(text));
            }
            b')' | b']' | 0x8f => self.push_list(Vec::new(), Value::Items),
            b'}' => self.push_list(Vec::new(), Value::Pairs),
            b't' | b'l' | 0x91 => {
                let items = self.above_mark()?;
                self.push_list(items, Value::Items);
            }
            b'd' => {
                let items = self.above_mark()?;
                self.push_list(items, Value::Pairs);
            }
            0x85..=0x87 => {
                let first = self.stack.len().checked_sub(usize::from(code - 0x84));
                let first = first
                    .ok_or_else(|| self.words.stop("it takes values that it does not have"))?;
                let items = self.stack.split_off(first);
                self.push_list(items, Value::Items);
            }
            b'a' | b's' | b'e' | b'u' | 0x90 => self.put(code)?,
            b'p' | b'q' | b'r' | 0x94 => {
                let number = match code {
                    0x94 => self.memo.len() as u64,
                    _ => self.words.number(code)?,
                };
                let top = self.top()?;
                self.memo.insert(number, top);
            }
            b'g' | b'h' | b'j' => {
                let number = self.words.number(code)?;
                let value = self.memo.get(&number).copied();
                let value = value
                    .ok_or_else(|| self.words.stop("it takes a value that it has not kept"))?;
                self.stack.push(value);
            }
            b'c' | 0x93 | b'R' | 0x81 | 0x92 | b'b' | b'i' | b'o' => self.call(code)?,
            _ => return Err(self.words.stop("it has an instruction that is no pickle's")),
        }
        Ok(true)
    }

    /// Classes, calls and states.
    fn call(&mut self, code: u8) -> Result<(), Stop> {
        match code {
            b'c' => {
                let name = self.words.two_lines()?;
                let name = self.add_text(Cow::Owned(name));
                self.stack.push(Value::Class(name));
            }
            0x93 => {
                let (name, module) = (self.pop()?, self.pop()?);
                let (Some(name), Some(module)) = (self.text(name), self.text(module)) else {
                    return Err(self.words.stop("a class has no name"));
                };
                let name = format!("{module}.{name}");
                let name = self.add_text(Cow::Owned(name));
                self.stack.push(Value::Class(name));
            }
            b'i' => {
                let name = self.words.two_lines()?;
                self.above_mark()?;
                let name = self.add_text(Cow::Owned(name));
                self.push_object(Value::Class(name));
            }
            b'o' => {
                let items = self.above_mark()?;
                self.push_object(items.first().copied().unwrap_or(Value::Nothing));
            }
            b'b' => {
                let state = self.pop()?;
                let top = self.top()?;
                if let Value::Object(row) = top
                    && let Some(object) = self.objects.get_mut(row as usize)
                {
                    object.state = state;
                }
            }
            _ => {
                if code == 0x92 {
                    self.pop()?;
                }
                let (arguments, class) = (self.pop()?, self.pop()?);
                // `copyreg._reconstructor(Class, object, None)` makes an object of the class.
                let is_maker =
                    (self.text(class)).is_some_and(|name| name.ends_with("_reconstructor"));
                let made = self.items(arguments).first().copied();
                self.push_object(made.filter(|_| is_maker).unwrap_or(class));
            }
        }
        Ok(())
    }

    /// Puts values into a list, a set or a dictionary.
    fn put(&mut self, code: u8) -> Result<(), Stop> {
        let items = match code {
            b'a' => vec![self.pop()?],
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                vec![key, value]
            }
            _ => self.above_mark()?,
        };
        let row = match self.top()? {
            Value::Items(row) | Value::Pairs(row) => Some(row),
            Value::Object(row) => self.objects.get(row as usize).map(|object| object.items),
            _ => None,
        };
        match row.and_then(|row| self.lists.get_mut(row as usize)) {
            Some(list) => list.extend(items),
            None => return Err(self.words.stop("it puts something into what is no list")),
        }
        Ok(())
    }

    fn add_text(&mut self, text: Cow<'a, str>) -> u32 {
        self.texts.push(text);
        row_of(&self.texts)
    }

    fn push_list(&mut self, items: Vec<Value>, value: fn(u32) -> Value) {
        self.lists.push(items);
        self.stack.push(value(row_of(&self.lists)));
    }

    fn push_object(&mut self, class: Value) {
        self.lists.push(Vec::new());
        self.objects.push(Object {
            class,
            state: Value::Nothing,
            items: row_of(&self.lists),
        });
        self.stack.push(Value::Object(row_of(&self.objects)));
    }

    /// The values above the last mark.
    fn above_mark(&mut self) -> Result<Vec<Value>, Stop> {
        match self.marks.pop() {
            Some(mark) if mark <= self.stack.len() => Ok(self.stack.split_off(mark)),
            _ => Err(self
                .words
                .stop("it goes back to a mark that it does not have")),
        }
    }

    fn top(&self) -> Result<Value, Stop> {
        let top = self.stack.last().copied();
        top.ok_or_else(|| self.words.stop("it takes a value that it does not have"))
    }

    fn pop(&mut self) -> Result<Value, Stop> {
        let top = self.top()?;
        self.stack.pop();
        Ok(top)
    }
}

/// The last row of a table. A file of less than 4 GB has fewer rows.
fn row_of<T>(table: &[T]) -> u32 {
    u32::try_from(table.len().saturating_sub(1)).unwrap_or(u32::MAX)
}
