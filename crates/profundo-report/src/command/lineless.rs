//! Time that no line of source has, in words: how much it is, in whose threads, and which line
//! waited for it.

use profundo_analysis::{Amount, Estimate, Lineless, Mass, Phase, Place};
use profundo_model::{FileId, Profile, Role};
use rustc_hash::FxHashSet;

use crate::json::{Json, place, share_members};
use crate::naming::Names;
use crate::naming::label::Label;
use crate::page::units::{counted, percent};

/// The number of libraries that are named.
const NAMED: usize = 3;

/// The parts of a selection that no line has.
pub(super) struct Pools<'a> {
    rows: &'a [Lineless],
    whole: Mass,
}

/// The amount outside of all shown lines.
pub(super) struct Rest {
    /// The amount.
    pub amount: Amount,
    /// Its owner, in words.
    pub text: String,
}

impl<'a> Pools<'a> {
    pub(super) fn new(rows: &'a [Lineless], whole: Mass) -> Self {
        Self { rows, whole }
    }

    /// The work of waited-for threads for a line. Shares that round to nothing have no row.
    pub(super) fn of_line(
        &self,
        profile: &'a Profile,
        file: FileId,
        line: u32,
    ) -> impl Iterator<Item = (&'a Lineless, Amount)> {
        self.rows.iter().flat_map(move |row| {
            let lines = row.lines.iter().filter(move |(frame, amount)| {
                let frame = profile.frames.get(*frame);
                (frame.file, frame.line) == (file, line) && self.is_shown(amount)
            });
            lines.map(move |&(_, amount)| (row, amount))
        })
    }

    fn is_shown(&self, amount: &Amount) -> bool {
        const LEAST: f64 = 0.003;
        amount.share(self.whole).share >= LEAST
    }

    /// The threads that worked for each line, and how much.
    pub(super) fn waited_for(
        &self,
        profile: &'a Profile,
        names: &Names<'_>,
    ) -> Vec<(String, Estimate, String)> {
        let of_row = |row: &'a Lineless| row.lines.iter().map(move |line| (row, line));
        let mut found: Vec<_> = (self.rows.iter().flat_map(of_row))
            .filter(|(_, (_, amount))| self.is_shown(amount))
            .collect();
        found.sort_by_key(|(_, (_, amount))| std::cmp::Reverse(amount.weight));
        (found.into_iter().take(NAMED))
            .map(|(row, (frame, amount))| {
                let share = amount.share(self.whole);
                let at = names.at(Place::Frame(*frame));
                (self.threads(profile, row), share, at)
            })
            .collect()
    }

    /// A library's threads, as `7 threads of libopenblas.so`.
    pub(super) fn threads(&self, profile: &Profile, row: &Lineless) -> String {
        let role = role(profile, row);
        // The agent has no threads of its own, and a reason has none at all.
        let is_reason = matches!(row.place, Some(Place::Reason(_)));
        if role == Some(Role::Profiler) || row.module.is_none() && is_reason {
            return name(profile, row).to_owned();
        }
        if role == Some(Role::Interpreter) {
            let doing = match row.phase {
                Some(Phase::Start) => "starting",
                Some(Phase::End) => "shutting down",
                // Mostly it waits for its lock.
                None => "itself",
            };
            return format!("{} {doing}", name(profile, row));
        }
        let threads = counted(row.threads.len() as u64, "thread");
        format!("{threads} of {}", name(profile, row))
    }

    /// The part that is left when the rows of these lines are taken off.
    pub(super) fn rest(
        &self,
        profile: &'a Profile,
        lines: impl Iterator<Item = (FileId, u32)>,
    ) -> Rest {
        let lines: FxHashSet<(FileId, u32)> = lines.collect();
        let mut left: Vec<(&Lineless, Amount)> = Vec::new();
        for row in self.rows {
            let mut amount = row.amount;
            for (frame, part) in &row.lines {
                let frame = profile.frames.get(*frame);
                if lines.contains(&(frame.file, frame.line)) && self.is_shown(part) {
                    take_off(&mut amount, part);
                }
            }
            if amount.weight > 0 {
                left.push((row, amount));
            }
        }
        left.sort_by_key(|(_, amount)| std::cmp::Reverse(amount.weight));
        let mut whole = Amount::default();
        for (_, amount) in &left {
            whole += *amount;
        }
        let parts: Vec<String> = (left.iter().take(NAMED))
            .map(|(row, amount)| {
                let share = amount.share(self.whole);
                let share = match share.few {
                    Some(few) => few.part.to_string(),
                    None => percent(share.share),
                };
                format!("{} {share}", self.threads(profile, row))
            })
            .collect();
        let others = if left.len() > NAMED { ", …" } else { "" };
        Rest {
            amount: whole,
            text: format!("in no line: {}{others}", parts.join(", ")),
        }
    }
}

fn take_off(amount: &mut Amount, part: &Amount) {
    amount.samples = amount.samples.saturating_sub(part.samples);
    amount.count = amount.count.saturating_sub(part.count);
    amount.weight = amount.weight.saturating_sub(part.weight);
    amount.squares = (amount.squares - part.squares).max(0.0);
    let (from, off) = (&mut amount.split, &part.split);
    from.python = from.python.saturating_sub(off.python);
    from.native = from.native.saturating_sub(off.native);
    from.system = from.system.saturating_sub(off.system);
    from.waiting = from.waiting.saturating_sub(off.waiting);
}

fn role(profile: &Profile, row: &Lineless) -> Option<Role> {
    row.module.map(|module| profile.modules.get(module).role)
}

/// The file of the library or the program, or what its stacks begin with.
fn name<'a>(profile: &'a Profile, row: &Lineless) -> &'a str {
    if role(profile, row) == Some(Role::Profiler) {
        return "profundo itself";
    }
    if let Some(module) = row.module {
        let path = profile.strings.get(profile.modules.get(module).path);
        return path.rsplit('/').next().unwrap_or(path);
    }
    match row.place.map(|place| Label::of(profile, place)) {
        Some(Label::Frame(frame)) => match profile.strings.get(frame.function) {
            "" => crate::naming::label::NO_FUNCTION,
            name => name,
        },
        Some(Label::Reason(reason)) => reason,
        Some(Label::Unknown) => crate::naming::label::NO_FUNCTION,
        None => "[nothing]",
    }
}

/// Writes all parts, and which line waited for which.
pub(super) fn members(json: &mut Json<'_>, profile: &Profile, rows: &[Lineless], whole: Mass) {
    let all = whole.weight as u64;
    json.array("lineless", |json| {
        for row in rows {
            json.object("", |json| {
                json.text("of", name(profile, row));
                match row.phase {
                    Some(Phase::Start) => json.text("phase", "start"),
                    Some(Phase::End) => json.text("phase", "end"),
                    None => {}
                }
                json.number("threads", row.threads.len() as u64);
                share_members(json, "", &row.amount.share(whole), &row.amount, all);
                json.array("waited_for_at", |json| {
                    for (frame, amount) in &row.lines {
                        json.row("", |json| {
                            json.row("at", |json| place(json, profile, Place::Frame(*frame)));
                            share_members(json, "", &amount.share(whole), amount, all);
                        });
                    }
                });
            });
        }
    });
}
