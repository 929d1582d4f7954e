//! The search: from the collector's objects and from the threads to everything that can be reached.
//!
//! Rows are visited in the order in which they were met, so no list of those to visit is needed.
//! The references to each row are counted: an object with more references than were met is held by
//! a holder that cannot be asked, such as an extension's own variables.

use core::ffi::CStr;

use profundo_cpython::objects::{object, type_flag};
use profundo_probe::shared::{refusal, request_flag};
use profundo_wire::graph::{EdgeKind, End, edge_words, node_words};

use super::Failure;
use super::counts;
use super::frames;
use super::holders::Known;
use super::names::{Text, Texts};
use super::outlet::Out;
use super::pages::Pages;
use super::roots::Tracked;
use super::rows::{Row, Rows};
use super::types::{self, Types};
use crate::inject::api::{Api, Object};
use crate::inject::field;

/// The number of objects after which progress is reported.
const OFTEN: usize = 1 << 14;

/// A search that is under way.
pub struct Search<'a, 'o> {
    pub api: &'a Api,
    pub flags: u32,
    pub out: &'a mut Out<'o>,
    pub texts: Texts,
    pub types: Types,
    rows: Rows,
    /// The objects that the visited object is known to hold.
    pub known: Pages<Known>,
    pub visited: Pages<u64>,
    /// The rows that each row holds, one behind the other, and where those of each row begin.
    held: Pages<Row>,
    begins: Pages<u64>,
    /// The roots of the graph.
    begun: Pages<Row>,
    edges: u64,
}

/// The first rows, which are the places where the graph begins.
struct Places {
    root: Row,
    modules: Row,
    threads: Row,
    native: Row,
    garbage: Row,
}

impl<'a, 'o> Search<'a, 'o> {
    /// Searches everything.
    pub fn run(
        api: &'a Api,
        flags: u32,
        found: Option<Pages<u64>>,
        out: &'a mut Out<'o>,
    ) -> Result<End, Failure> {
        // SAFETY: the lock is held; the dictionary is borrowed.
        let modules = unsafe { (api.modules)() };
        if modules.is_null() {
            return Err(refusal::NOT_RUNNING);
        }
        // SAFETY: that dictionary holds modules, so the collector knows it.
        let tracked = unsafe { Tracked::of(api, modules, found) }?;
        if tracked.is_collecting() {
            return Err(refusal::COLLECTING);
        }
        tracked.forbid(api);
        let asks = flags & request_flag::NO_CALLS == 0;
        let mut search = Search {
            api,
            flags,
            out,
            texts: Texts::new()?,
            types: Types::new(api, asks)?,
            rows: Rows::new()?,
            known: Pages::new(),
            visited: Pages::new(),
            held: Pages::new(),
            begins: Pages::new(),
            begun: Pages::new(),
            edges: 0,
        };
        let places = search.begin(modules)?;
        tracked.each(|object| {
            let count = search.rows.len();
            if count.is_multiple_of(OFTEN) {
                search.out.progress(count as u64);
            }
            search.rows.of(object).map(|_| ())
        })?;
        search.go_through()?;
        // SAFETY: a byte of zero is one.
        let mut seen = unsafe { Pages::<u8>::zeros(search.rows.len()) }?;
        let mut begun = core::mem::replace(&mut search.begun, Pages::new());
        search.spread(&mut seen, &mut begun)?;
        search.write_native(&places, &mut seen)?;
        search.write_garbage(&places, &mut seen)?;
        // SAFETY: the function counts, under the lock.
        let blocks = api.blocks.map_or(0, |blocks| unsafe { blocks() });
        Ok(End {
            failure: 0,
            nodes: search.rows.len() as u64,
            edges: search.edges,
            blocks: blocks.max(0) as u64,
        })
    }

    fn begin(&mut self, modules: Object) -> Result<Places, Failure> {
        let mut row = |name: &'static CStr| {
            let kind = self.synthetic(name)?;
            self.place(kind, None)
        };
        let places = Places {
            root: row(c"")?,
            modules: row(c"(Modules)")?,
            threads: row(c"(Threads)")?,
            native: row(c"(Held by native code)")?,
            garbage: row(c"(Garbage, not collected yet)")?,
        };
        for (place, name) in [
            (places.modules, c"modules"),
            (places.threads, c"threads"),
            (places.native, c"native"),
            (places.garbage, c"garbage"),
        ] {
            let name = self.text(name)?;
            self.write_inner_edge(places.root, place, EdgeKind::Internal, name);
        }
        let name = self.text(c"sys.modules")?;
        self.write_root_edge(places.modules, modules as u64, EdgeKind::Internal, name)?;
        frames::write_threads(self, places.threads)?;
        Ok(places)
    }

    /// Visits all rows, and those that are met on the way.
    fn go_through(&mut self) -> Result<(), Failure> {
        /// The number of rows between two reports of progress.
        const TURN: usize = 4096;
        let mut row = 0;
        while row < self.rows.len() {
            self.begins.push(self.held.len() as u64)?;
            match self.rows.place_at(row as Row) {
                Some((kind, name)) => {
                    let words = node_words(kind, name, 0, 0);
                    self.out.put(words.as_slice());
                }
                None => self.write_object(row as Row, self.rows.address(row as Row))?,
            }
            row += 1;
            if row.is_multiple_of(TURN) {
                self.out.progress(row as u64);
            }
        }
        self.begins.push(self.held.len() as u64)
    }

    fn write_object(&mut self, row: Row, address: u64) -> Result<(), Failure> {
        let object = address as Object;
        // SAFETY: an object has a type.
        let class = unsafe { field(address, object::TYPE) };
        let (api, out) = (self.api, &mut *self.out);
        let kind = self.types.of(api, out, &mut self.texts, class)?;
        let name = self.own_name(object, &kind)?;
        let size = kind.size(api, object);
        let words = node_words(kind.number, name, address, size);
        self.out.put(words.as_slice());
        self.write_held(row, object, &kind)
    }

    /// The object's own name: that of a function or a class, or a text that may be recorded.
    fn own_name(&mut self, object: Object, kind: &types::Kind) -> Result<Option<Text>, Failure> {
        let (api, out) = (self.api, &mut *self.out);
        if kind.flags & type_flag::TEXT != 0 {
            if self.flags & request_flag::REDACT != 0 {
                return Ok(None);
            }
            return self.texts.of_object(out, api, object);
        }
        if kind.flags & type_flag::CLASS != 0 {
            return self
                .types
                .class_name(api, out, &mut self.texts, object)
                .map(Some);
        }
        match types::own_name(api, object, kind) {
            Some(name) => self.texts.of_object(out, api, name),
            None => Ok(None),
        }
    }

    /// Reports objects that are held from elsewhere: with more references than were met, or
    /// immortal. Where one can be reached by names as well, these say more: then it is only noted.
    fn write_native(&mut self, places: &Places, seen: &mut Pages<u8>) -> Result<(), Failure> {
        let name = self.text(c"native")?;
        let mut next = Pages::new();
        for row in 0..self.rows.len() as Row {
            let address = self.rows.address(row);
            if address == 0 {
                continue;
            }
            // SAFETY: it is an object.
            let counted = unsafe { counts::of(self.api.layout.objects.references, address) };
            let is_immortal = counted.is_none();
            let holders = u64::from(self.rows.holders(row));
            let is_held = counted.is_none_or(|count| count > holders);
            match seen.get(row as usize) {
                Some(0) if is_held => {
                    self.write_inner_edge(places.native, row, EdgeKind::Internal, name);
                    next.clear();
                    next.push(row)?;
                    self.spread(seen, &mut next)?;
                }
                Some(_) if is_held && !is_immortal => {
                    self.write_inner_edge(places.native, row, EdgeKind::Weak, name);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Reports what cannot be reached from anywhere.
    fn write_garbage(&mut self, places: &Places, seen: &mut Pages<u8>) -> Result<(), Failure> {
        let mut next = Pages::new();
        let name = self.text(c"garbage")?;
        for row in 0..self.rows.len() as Row {
            if self.rows.address(row) != 0 && seen.get(row as usize) == Some(0) {
                self.write_inner_edge(places.garbage, row, EdgeKind::Internal, name);
                next.clear();
                next.push(row)?;
                self.spread(seen, &mut next)?;
            }
        }
        Ok(())
    }

    /// Marks all that can be reached.
    fn spread(&self, seen: &mut Pages<u8>, next: &mut Pages<Row>) -> Result<(), Failure> {
        let mut at = 0;
        while let Some(row) = next.get(at) {
            at += 1;
            if at.is_multiple_of(OFTEN) {
                // Another number, so that the command sees progress.
                self.out.progress((self.rows.len() + at) as u64);
            }
            let Some(mark) = seen.as_mut_slice().get_mut(row as usize) else {
                continue;
            };
            if core::mem::replace(mark, 1) != 0 {
                continue;
            }
            let row = row as usize;
            let bounds = self.begins.get(row).zip(self.begins.get(row + 1));
            let Some((from, to)) = bounds else { continue };
            let held = self.held.as_slice().get(from as usize..to as usize);
            for &held in held.unwrap_or_default() {
                if seen.get(held as usize) == Some(0) {
                    next.push(held)?;
                }
            }
        }
        Ok(())
    }

    /// A type for places that are no objects.
    pub fn synthetic(&mut self, name: &'static CStr) -> Result<u32, Failure> {
        self.types.synthetic(self.out, &mut self.texts, name)
    }

    /// A text of ours.
    pub fn text(&mut self, text: &'static CStr) -> Result<Text, Failure> {
        self.texts.of_ours(self.out, text)
    }

    /// A row for a place that is no object.
    pub fn place(&mut self, kind: u32, name: Option<Text>) -> Result<Row, Failure> {
        self.rows.place(kind, name)
    }

    /// An edge between known rows that does not count as a reference.
    pub fn write_inner_edge(&mut self, from: Row, to: Row, kind: EdgeKind, name: u32) {
        self.edges += 1;
        self.out.put(edge_words(kind, name, from, to).as_slice());
    }

    /// An edge from a root to an object.
    pub fn write_root_edge(
        &mut self,
        from: Row,
        object: u64,
        kind: EdgeKind,
        name: u32,
    ) -> Result<(), Failure> {
        let to = self.rows.of(object)?;
        self.rows.hold(to);
        self.begun.push(to)?;
        self.write_inner_edge(from, to, kind, name);
        Ok(())
    }

    /// An edge from an object to another one.
    pub fn write_edge(
        &mut self,
        from: Row,
        object: u64,
        kind: EdgeKind,
        name: u32,
    ) -> Result<(), Failure> {
        let to = self.rows.of(object)?;
        if kind != EdgeKind::Weak {
            self.rows.hold(to);
            self.held.push(to)?;
        }
        self.write_inner_edge(from, to, kind, name);
        Ok(())
    }
}
