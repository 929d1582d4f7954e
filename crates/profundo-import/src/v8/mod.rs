//! What V8's profiles have in common: a tree of functions, each under its callers, with lines
//! counted from 0 and names in brackets for what is no function.

pub(crate) mod cpu;
pub(crate) mod log;
mod tree;

use std::borrow::Cow;

use profundo_model::{FrameId, Language, LocationId, StackId};
use rustc_hash::FxHashMap;

use crate::encoding::json::{Json, Read};
use crate::{Builder, Named};
pub(crate) use tree::read_tree;

/// The most frames of a stack. Deeper ones are cut at their leaf's end.
const DEEPEST: usize = 4096;

/// The meaning of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Role {
    #[default]
    Code,
    /// Above all others; it is no function.
    Root,
    /// The thread waits for events.
    Idle,
    /// The collector of garbage, whose callers were not read.
    Collector,
}

/// A function below its callers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Node {
    /// Its parent's row, where the tree says it.
    pub parent: Option<u32>,
    /// Its parent's number, where the node says it.
    pub parent_id: Option<u64>,
    pub id: u64,
    pub role: Role,
    location: Option<LocationId>,
    children: Vec<u64>,
    pub hits: u64,
    /// The samples of each line.
    pub ticks: Vec<(u32, u64)>,
    /// Bytes of the memory that it allocated itself.
    pub self_size: u64,
    /// The function in files that have no `callFrame`.
    call: Call,
}

/// A function as V8 says it.
#[derive(Debug, Clone, Default)]
struct Call {
    function: String,
    url: String,
    line: Option<i64>,
}

/// The nodes of a profile.
#[derive(Debug, Default)]
pub(crate) struct Nodes {
    pub rows: Vec<Node>,
    ids: FxHashMap<u64, u32>,
    /// The stack of each row, once all are read.
    stacks: Vec<Option<StackId>>,
    /// The innermost location of a row at a line.
    at_lines: FxHashMap<(u32, u32), StackId>,
}

impl Nodes {
    /// The row of a number.
    pub(crate) fn row(&self, id: u64) -> Option<u32> {
        self.ids.get(&id).copied()
    }

    /// Adds a row, and returns its number.
    pub(crate) fn open(&mut self, parent: Option<u32>) -> u32 {
        self.rows.push(Node {
            parent,
            ..Node::default()
        });
        // More than 2^32 nodes are a file of more than 100 GB.
        (self.rows.len() - 1) as u32
    }

    /// Reads an object with a node.
    pub(crate) fn read(&mut self, json: &mut Json<'_>, builder: &mut Builder) -> Read<()> {
        let row = self.open(None);
        json.object(|json, key| self.field(row, key, json, builder))
    }

    /// Reads a field of a row.
    pub(crate) fn field(
        &mut self,
        row: u32,
        key: &str,
        json: &mut Json<'_>,
        builder: &mut Builder,
    ) -> Read<()> {
        let Some(node) = self.rows.get_mut(row as usize) else {
            return json.skip();
        };
        match key {
            "id" => {
                node.id = json.whole()?.map_or(0, |id| id as u64);
                self.ids.insert(node.id, row);
            }
            "parent" => node.parent_id = json.whole()?.map(|id| id as u64),
            "callFrame" => {
                let mut call = Call::default();
                json.object(|json, key| call.field(key, json))?;
                node.name(&call, 1, builder);
            }
            "children" => json.array(|json| {
                node.children.extend(json.whole()?.map(|id| id as u64));
                Ok(())
            })?,
            "hitCount" => node.hits = json.whole()?.map_or(0, |hits| hits.max(0) as u64),
            "selfSize" => node.self_size = json.whole()?.map_or(0, |size| size.max(0) as u64),
            "positionTicks" => json.array(|json| {
                let (mut line, mut ticks) = (0, 0);
                json.object(|json, key| {
                    match key {
                        "line" => line = json.index()?.unwrap_or(0),
                        "ticks" => ticks = json.index()?.unwrap_or(0),
                        _ => json.skip()?,
                    }
                    Ok(())
                })?;
                node.ticks.push((line, u64::from(ticks)));
                Ok(())
            })?,
            "functionName" | "url" | "lineNumber" => node.call.field(key, json)?,
            _ => json.skip()?,
        }
        Ok(())
    }

    /// Finds the stack of each row. The tree may be a tangle: then rows without a way to the root
    /// are roots themselves.
    pub(crate) fn resolve(&mut self, builder: &mut Builder) {
        for row in 0..self.rows.len() {
            for child in std::mem::take(&mut self.rows[row].children) {
                if let Some(&child) = self.ids.get(&child)
                    && let Some(child) = self.rows.get_mut(child as usize)
                {
                    child.parent.get_or_insert(row as u32);
                }
            }
            let node = &mut self.rows[row];
            if let Some(id) = node.parent_id {
                node.parent = self.ids.get(&id).copied().or(node.parent);
            }
            if node.location.is_none() {
                let call = std::mem::take(&mut node.call);
                node.name(&call, 0, builder);
            }
        }
        self.stacks = vec![None; self.rows.len()];
        let mut depths = vec![0_usize; self.rows.len()];
        let mut is_done = vec![false; self.rows.len()];
        let mut path = Vec::new();
        for row in 0..self.rows.len() {
            // The way up to a row that is done.
            let mut next = Some(row);
            while let Some(row) = next
                && !is_done[row]
            {
                is_done[row] = true;
                path.push(row);
                let parent = self.rows[row].parent.map(|parent| parent as usize);
                next = parent.filter(|&parent| parent < self.rows.len());
            }
            let mut stack = next.and_then(|row| self.stacks[row]);
            let mut depth = next.map_or(0, |row| depths[row]);
            while let Some(row) = path.pop() {
                let node = &self.rows[row];
                if node.role != Role::Root
                    && depth < DEEPEST
                    && let Some(location) = node.location
                {
                    stack = Some(builder.stack(stack, location));
                    depth += 1;
                }
                self.stacks[row] = stack;
                depths[row] = depth;
            }
        }
    }

    /// The stack of a row; `None` for the root.
    pub(crate) fn stack(&self, row: u32) -> Option<StackId> {
        self.stacks.get(row as usize).copied().flatten()
    }

    /// The stack of a row whose function runs a line.
    pub(crate) fn stack_at(
        &mut self,
        row: u32,
        line: u32,
        builder: &mut Builder,
    ) -> Option<StackId> {
        let stack = self.stack(row)?;
        let location = self.rows.get(row as usize)?.location?;
        if line == 0 {
            return Some(stack);
        }
        if let Some(&known) = self.at_lines.get(&(row, line)) {
            return Some(known);
        }
        let profile = &mut builder.profile;
        let frame: FrameId = *profile.locations.get(location).frames.first()?;
        let frame = profundo_model::Frame {
            line,
            ..*profile.frames.get(frame)
        };
        let frame = profile.frames.intern(frame);
        let parent = profile.stacks.get(stack).parent;
        let location = builder.location_of(frame, None);
        let stack = builder.stack(parent, location);
        self.at_lines.insert((row, line), stack);
        Some(stack)
    }
}

impl Call {
    fn field(&mut self, key: &str, json: &mut Json<'_>) -> Read<()> {
        match key {
            "functionName" => self.function = json.text()?.unwrap_or_default().into_owned(),
            "url" => self.url = json.text()?.unwrap_or_default().into_owned(),
            "lineNumber" => self.line = json.whole()?,
            _ => json.skip()?,
        }
        Ok(())
    }
}

impl Node {
    /// Names the row. Lines are counted from 1 after `added`.
    fn name(&mut self, call: &Call, added: i64, builder: &mut Builder) {
        let line = call.line.and_then(|line| line.checked_add(added));
        let line = line.and_then(|line| u32::try_from(line).ok());
        let (function, language) = match &call.function[..] {
            "(root)" => {
                self.role = Role::Root;
                ("(root)", Language::Native)
            }
            "(idle)" => {
                self.role = Role::Idle;
                ("(idle)", Language::Native)
            }
            "(garbage collector)" => {
                self.role = Role::Collector;
                ("(garbage collector)", Language::Native)
            }
            "(program)" => ("(program)", Language::Native),
            "" => ("(anonymous)", Language::JavaScript),
            name if call.url.starts_with("wasm://") => (name, Language::Generated),
            name => (name, Language::JavaScript),
        };
        self.location = Some(builder.location(Named {
            function,
            file: &path(&call.url),
            line: line.unwrap_or(0),
            language: Some(language),
            ..Named::default()
        }));
    }
}

/// The path of a URL, where it is a file's.
pub(crate) fn path(url: &str) -> Cow<'_, str> {
    let Some(path) = url.strip_prefix("file://") else {
        return Cow::Borrowed(url);
    };
    if !path.contains('%') {
        return Cow::Borrowed(path);
    }
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [byte, others @ ..] = rest {
        let digits = rest.get(1..3).filter(|_| *byte == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(escaped) => {
                bytes.push(escaped);
                rest = &rest[3..];
            }
            None => {
                bytes.push(*byte);
                rest = others;
            }
        }
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_urls_are_plain() {
        assert_eq!(path("file:///a%20b/%c3%a4.js"), "/a b/ä.js");
        assert_eq!(path("file:///100%"), "/100%");
        assert_eq!(path("https://x/a.js?b=%20"), "https://x/a.js?b=%20");
        assert_eq!(path("node:fs"), "node:fs");
    }
}
