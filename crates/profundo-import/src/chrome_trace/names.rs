//! The functions that events name, with the file and the line where a tool writes these into the
//! name (`work (app.py:3)` of viztracer, `app.py(3): work` of PyTorch) or beside it (py-spy).

use profundo_model::{LocationId, ThreadId};
use rustc_hash::FxHashMap;

use super::event::Event;
use crate::encoding::json::Read;
use crate::{Builder, Named};

/// The number of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Name(u32);

impl Name {
    /// That of an event without one.
    pub(super) const NONE: Self = Self(u32::MAX);
}

/// The names so far.
#[derive(Default)]
pub(super) struct Names {
    ids: FxHashMap<Box<str>, Name>,
    /// Those of functions whose place stands beside their name.
    placed: FxHashMap<(Box<str>, Box<str>, u32), Name>,
    /// Their locations; none for names of threads and processes.
    locations: Vec<Option<LocationId>>,
}

impl Names {
    pub(super) fn location(&self, name: Name) -> Option<LocationId> {
        self.locations.get(name.0 as usize).copied().flatten()
    }

    /// The name of an event.
    pub(super) fn of(
        &mut self,
        event: &Event<'_>,
        thread: ThreadId,
        builder: &mut Builder,
    ) -> Read<Name> {
        if event.name.is_empty() && event.kind == b'E' {
            return Ok(Name::NONE);
        }
        if event.category == "py-spy" {
            return self.of_py_spy(event, thread, builder);
        }
        if let Some(&name) = self.ids.get(&event.name[..]) {
            return Ok(name);
        }
        let (function, file, line) = place(&event.name).unwrap_or((&event.name, "", 0));
        let location = builder.location(Named {
            function,
            file,
            line,
            ..Named::default()
        });
        let name = self.add(Some(location));
        self.ids.insert((&event.name[..]).into(), name);
        Ok(name)
    }

    fn add(&mut self, location: Option<LocationId>) -> Name {
        self.locations.push(location);
        Name((self.locations.len() - 1) as u32)
    }

    fn of_py_spy(
        &mut self,
        event: &Event<'_>,
        thread: ThreadId,
        builder: &mut Builder,
    ) -> Read<Name> {
        let file = event.argument(&["filename"])?.unwrap_or_default();
        let line = event.argument(&["line"])?.unwrap_or_default();
        let line: u32 = line.parse().unwrap_or(0);
        let key = ((&event.name[..]).into(), (&file[..]).into(), line);
        if let Some(&name) = self.placed.get(&key) {
            return Ok(name);
        }
        let owner = || {
            if !file.is_empty() {
                return None;
            }
            let process =
                (event.name.strip_prefix("process ")).and_then(|rest| rest.split_once(':'));
            let thread =
                (event.name.strip_prefix("thread (")).and_then(|rest| rest.split_once("): "));
            Some((process, thread)).filter(|parts| parts.0.is_some() || parts.1.is_some())
        };
        let location = match owner() {
            Some((process, name)) => {
                if let Some((pid, command)) = process
                    && let Ok(pid) = pid.parse()
                {
                    builder.process(pid, command.trim_matches('"'));
                }
                if let Some((tid, name)) = name {
                    let name = builder.profile.strings.intern(name);
                    let row = builder.profile.threads.get_mut(thread);
                    row.name = name;
                    row.tid = tid.parse().unwrap_or(row.tid);
                }
                None
            }
            None => Some(builder.location(Named {
                function: &event.name,
                file: &file,
                line,
                ..Named::default()
            })),
        };
        let name = self.add(location);
        self.placed.insert(key, name);
        Ok(name)
    }
}

/// The function, the file and the line in a name.
fn place(name: &str) -> Option<(&str, &str, u32)> {
    let of_viztracer = || {
        let (function, place) = name.strip_suffix(')')?.rsplit_once(" (")?;
        let (file, line) = place.rsplit_once(':')?;
        Some((function, file, line.parse().ok()?))
    };
    let of_pytorch = || {
        let (place, function) = name.split_once("): ")?;
        let (file, line) = place.rsplit_once('(')?;
        Some((function, file, line.parse().ok()?))
    };
    of_viztracer().or_else(of_pytorch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_places() {
        assert_eq!(place("f (/a b/c.py:3)"), Some(("f", "/a b/c.py", 3)));
        assert_eq!(
            place("torch/nn/m.py(12): forward"),
            Some(("forward", "torch/nn/m.py", 12))
        );
        assert_eq!(place("std::sort(int*)"), None);
        assert_eq!(place("Receive (x): y"), None);
    }
}
