//! Labels: where samples come from. A row is a series: one thread with all that is known of it.

use std::ops::Range;

use super::Table;
use crate::Error;
use crate::file::{Group, Put};
use crate::ids::Contents;
use crate::texts::{Text, Texts};

/// A thread of a process, and where that runs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct LabelRow {
    /// The service.
    pub service: Text,
    /// The id.
    pub series: i64,
    /// The machine.
    pub host: Text,
    /// The version of the service.
    pub version: Text,
    /// The container.
    pub container: Text,
    /// The pod.
    pub pod: Text,
    /// The process id.
    pub pid: i64,
    /// The command line.
    pub command: Text,
    /// The interpreter, such as `CPython 3.12.1`.
    pub runtime: Text,
    /// The thread id.
    pub tid: i64,
    /// The thread's name.
    pub thread: Text,
    /// The thread's number in its process, from 1.
    pub number: i64,
    /// Further labels, sorted by key.
    pub labels: Vec<(Text, Text)>,
}

impl LabelRow {
    /// The id of a series with these contents.
    pub fn id(&self, texts: &Texts) -> i64 {
        let mut contents = Contents::default()
            .text(texts.get(self.service))
            .text(texts.get(self.host))
            .text(texts.get(self.version))
            .text(texts.get(self.container))
            .text(texts.get(self.pod))
            .number(self.pid)
            .text(texts.get(self.command))
            .text(texts.get(self.runtime))
            .number(self.tid)
            .text(texts.get(self.thread))
            .number(self.number);
        for &(key, value) in &self.labels {
            contents = contents.text(texts.get(key)).text(texts.get(value));
        }
        contents.id()
    }
}

impl Table for LabelRow {
    const NAME: &'static str = "labels";
    const SCHEMA: &'static str = "message labels {
        REQUIRED BYTE_ARRAY service (STRING);
        REQUIRED INT64 series;
        REQUIRED BYTE_ARRAY host (STRING);
        REQUIRED BYTE_ARRAY version (STRING);
        REQUIRED BYTE_ARRAY container (STRING);
        REQUIRED BYTE_ARRAY pod (STRING);
        REQUIRED INT64 pid;
        REQUIRED BYTE_ARRAY command (STRING);
        REQUIRED BYTE_ARRAY runtime (STRING);
        REQUIRED INT64 tid;
        REQUIRED BYTE_ARRAY thread (STRING);
        REQUIRED INT64 number;
        REQUIRED GROUP labels (MAP) {
            REPEATED GROUP key_value {
                REQUIRED BYTE_ARRAY key (STRING);
                REQUIRED BYTE_ARRAY value (STRING);
            }
        }
    }";
    const GROUP: usize = 16_384;
    const SORTED_BY: &'static [i32] = &[0];

    fn write(rows: &[Self], texts: &Texts, put: &mut Put<'_, '_>) -> Result<(), Error> {
        put.texts(texts, rows.iter().map(|row| row.service))?;
        put.longs(rows.iter().map(|row| row.series))?;
        put.texts(texts, rows.iter().map(|row| row.host))?;
        put.texts(texts, rows.iter().map(|row| row.version))?;
        put.texts(texts, rows.iter().map(|row| row.container))?;
        put.texts(texts, rows.iter().map(|row| row.pod))?;
        put.longs(rows.iter().map(|row| row.pid))?;
        put.texts(texts, rows.iter().map(|row| row.command))?;
        put.texts(texts, rows.iter().map(|row| row.runtime))?;
        put.longs(rows.iter().map(|row| row.tid))?;
        put.texts(texts, rows.iter().map(|row| row.thread))?;
        put.longs(rows.iter().map(|row| row.number))?;
        let part = |part: fn(&(Text, Text)) -> Text| {
            let labels = rows.iter().map(move |row| row.labels.iter().map(part));
            labels.map(Iterator::collect::<Vec<Text>>)
        };
        put.text_lists(texts, part(|label| label.0))?;
        put.text_lists(texts, part(|label| label.1))
    }

    fn read(group: &Group<'_>, rows: Range<usize>, texts: &mut Texts) -> Result<Vec<Self>, Error> {
        let mut text = |name| group.texts(name, rows.clone(), texts);
        let (service, host, version) = (text("service")?, text("host")?, text("version")?);
        let (container, pod) = (text("container")?, text("pod")?);
        let (command, runtime, thread) = (text("command")?, text("runtime")?, text("thread")?);
        let long = |name| group.longs(name, rows.clone());
        let (series, pid) = (long("series")?, long("pid")?);
        let (tid, number) = (long("tid")?, long("number")?);
        let keys = group.text_lists("labels.key_value.key", rows.clone(), texts)?;
        let values = group.text_lists("labels.key_value.value", rows, texts)?;
        let labels = keys.into_iter().zip(values).enumerate();
        let row = |(at, (keys, values)): (usize, (Vec<Text>, Vec<Text>))| Self {
            service: service.get(at),
            series: series.get(at),
            host: host.get(at),
            version: version.get(at),
            container: container.get(at),
            pod: pod.get(at),
            pid: pid.get(at),
            command: command.get(at),
            runtime: runtime.get(at),
            tid: tid.get(at),
            thread: thread.get(at),
            number: number.get(at),
            labels: keys.into_iter().zip(values).collect(),
        };
        Ok(labels.map(row).collect())
    }
}
