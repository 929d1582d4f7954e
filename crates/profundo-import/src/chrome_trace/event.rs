//! One event. Its arguments are kept as text, since few events need them.

use std::borrow::Cow;

use crate::encoding::json::{Json, Read};

/// An event as it stands in the file. Times are in nanoseconds.
#[derive(Debug, Default)]
pub(super) struct Event<'a> {
    /// Its `ph`: `X` for a whole stretch, `B` and `E` for the ends of one.
    pub kind: u8,
    pub name: Cow<'a, str>,
    pub category: Cow<'a, str>,
    pub pid: &'a [u8],
    pub tid: &'a [u8],
    pub time: Option<i64>,
    pub duration: Option<i64>,
    pub arguments: &'a [u8],
    /// What joins the parts of an asynchronous stretch.
    pub id: &'a [u8],
    /// The frame of a sample.
    pub frame: &'a [u8],
}

impl<'a> Event<'a> {
    pub(super) fn read(json: &mut Json<'a>) -> Read<Self> {
        let mut event = Self::default();
        if !json.enter(b'{')? {
            return Ok(event);
        }
        while let Some(key) = json.key()? {
            match &key[..] {
                "ph" => {
                    let kind = json.text()?.unwrap_or_default();
                    event.kind = kind.bytes().next().unwrap_or(0);
                }
                "name" => event.name = json.text_or_raw()?,
                "cat" => event.category = json.text()?.unwrap_or_default(),
                "pid" => event.pid = json.raw()?,
                "tid" => event.tid = json.raw()?,
                "ts" => event.time = json.decimal(3)?,
                "dur" => event.duration = json.decimal(3)?,
                // Some have only the duration on the clock of the thread.
                "tdur" => event.duration = event.duration.or(json.decimal(3)?),
                "args" => event.arguments = json.raw()?,
                "id" | "id2" => event.id = json.raw()?,
                "sf" => event.frame = json.raw()?,
                _ => json.skip()?,
            }
        }
        Ok(event)
    }

    /// The first of these arguments.
    pub(super) fn argument(&self, keys: &[&str]) -> Read<Option<Cow<'a, str>>> {
        let mut found = None;
        if self.arguments.is_empty() {
            return Ok(found);
        }
        let mut json = Json::new(self.arguments);
        if !json.enter(b'{')? {
            return Ok(found);
        }
        while let Some(key) = json.key()? {
            match keys.contains(&&key[..]) {
                true if found.is_none() => found = Some(json.text_or_raw()?),
                _ => json.skip()?,
            }
        }
        Ok(found)
    }
}
