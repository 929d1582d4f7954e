//! The `.cpuprofile` of node (`--cpu-prof`), of Chrome's developer tools and of other programs with
//! V8: functions as a list of nodes, or in older files as a tree, and samples.
//!
//! V8 takes samples at intervals of elapsed time, whether the thread runs or waits for events.

use profundo_model::SampleKind;

use crate::encoding::json::{Json, Read, first, member, members};
use crate::reader::{Reader, Table};
use crate::v8::cpu::CpuProfile;
use crate::v8::read_tree;
use crate::{Builder, Error, Source};

pub(crate) const READER: Reader = Reader(&Table {
    name: "cpuprofile",
    writers: "node --cpu-prof, Chrome's developer tools, Deno, VS Code, …",
    is_start,
    fill,
});

fn is_start(start: &[u8]) -> bool {
    let members = members(start);
    let has = |key| member(&members, key);
    let is_node = has("nodes").and_then(first).is_some_and(|node| {
        let node = self::members(node);
        member(&node, "callFrame").is_some() && member(&node, "id").is_some()
    });
    let is_old = has("head").is_some_and(|head| {
        let head = self::members(head);
        member(&head, "functionName").is_some() && member(&head, "hitCount").is_some()
    });
    let is_behind = has("startTime").is_some()
        && has("endTime").is_some()
        && (has("timeDeltas").is_some() || has("timestamps").is_some());
    is_node || is_old || is_behind
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    builder.weighs(SampleKind::Wall, "");
    let mut file = File::default();
    let result = file.read(&mut Json::new(source.bytes), builder);
    let thread = builder.only_thread();
    let has_spread_lines = file
        .profile
        .nodes
        .rows
        .iter()
        .any(|node| node.ticks.len() > 1);
    let has_times = !file.profile.samples.is_empty();
    file.finish().give(thread, builder);
    if let Err(damage) = result {
        builder.warn(damage.warning());
    }
    match has_times {
        true if has_spread_lines => builder.note(
            "a .cpuprofile has the lines of each function, not of each sample: they are spread \
             evenly over its samples, and callers stand at their first lines",
        ),
        true => builder.note("functions stand at their first lines in a .cpuprofile"),
        false => builder.note("the file has no samples, only their numbers: there are no times"),
    }
    Ok(())
}

#[derive(Default)]
struct File {
    profile: CpuProfile,
    /// The times of samples in files with a tree, in nanoseconds.
    timestamps: Vec<i64>,
    is_tree: bool,
    /// Seconds in files with a tree, else microseconds.
    start: f64,
    end: Option<f64>,
}

impl File {
    fn read(&mut self, json: &mut Json<'_>, builder: &mut Builder) -> Read<()> {
        let Self {
            profile,
            timestamps,
            is_tree,
            start,
            end,
        } = self;
        json.object(|json, key| {
            match key {
                "nodes" => json.array(|json| profile.nodes.read(json, builder))?,
                "head" => {
                    *is_tree = true;
                    read_tree(&mut profile.nodes, json, builder)?;
                }
                "samples" => json.array(|json| {
                    profile
                        .samples
                        .push(json.whole()?.map_or(0, |id| id as u64));
                    Ok(())
                })?,
                "timeDeltas" => json.array(|json| {
                    profile.deltas.push(json.decimal(3)?.unwrap_or(0));
                    Ok(())
                })?,
                "timestamps" => json.array(|json| {
                    timestamps.extend(json.decimal(3)?);
                    Ok(())
                })?,
                "startTime" => *start = json.number()?.unwrap_or(0.0),
                "endTime" => *end = json.number()?,
                _ => json.skip()?,
            }
            Ok(())
        })
    }

    /// The profile with times since its start.
    fn finish(mut self) -> CpuProfile {
        let scale = if self.is_tree { 1e9 } else { 1e3 };
        self.profile.end = self
            .end
            .map(|end| ((end - self.start) * scale).round() as i64);
        if let Some(&first) = self.timestamps.first() {
            let start = (self.start * scale).round() as i64;
            // Some files have other clocks for these.
            let is_near = first.abs_diff(start) < 3_600_000_000_000;
            let mut before = if is_near { start } else { first };
            self.profile.deltas = (self.timestamps.iter())
                .map(|&time| {
                    let delta = time.saturating_sub(before);
                    before = time;
                    delta
                })
                .collect();
        }
        self.profile
    }
}
