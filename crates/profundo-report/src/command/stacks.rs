//! One stack of each thread, the innermost frame first: the state of the program at this instant.

use std::io;

use profundo_analysis::palette::Hue;
use profundo_analysis::{Place, Selection, shown_stack};
use profundo_model::{Gil, Profile, Sample, State};

use super::locals::{self, ThreadLocals};
use super::{BOLD, GRAY, View, ViewOptions, write_empty, write_filter};
use crate::json::{Json, place};
use crate::naming::Names;
use crate::page::Page;
use crate::page::line::{Line, Style};

/// A report of one stack of each thread.
#[derive(Debug, Clone)]
pub struct Stacks {
    options: ViewOptions,
    /// The variables of threads, in any order.
    locals: Vec<ThreadLocals>,
}

impl Default for Stacks {
    fn default() -> Self {
        Self {
            options: ViewOptions {
                quality: Some(false),
                ..ViewOptions::default()
            },
            locals: Vec::new(),
        }
    }
}

impl Stacks {
    /// All threads.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the variables of Python frames.
    #[must_use]
    pub fn locals(mut self, locals: Vec<ThreadLocals>) -> Self {
        self.locals = locals;
        self
    }

    /// The variables of a sample's thread.
    fn locals_of(&self, profile: &Profile, sample: &Sample) -> Option<&ThreadLocals> {
        let thread = profile.threads.get(sample.thread);
        let pid = profile.processes[thread.process.index()].pid;
        let mut all = self.locals.iter();
        all.find(|locals| locals.pid == pid && locals.tid == thread.tid)
    }

    /// The samples by process and thread.
    fn samples<'a>(&self, profile: &'a Profile, selection: &'a Selection) -> Vec<&'a Sample> {
        let mut samples: Vec<&Sample> = selection.samples(profile).collect();
        samples.sort_by_key(|sample| {
            let thread = profile.threads.get(sample.thread);
            (thread.process, thread.number, sample.time)
        });
        samples
    }
}

impl View for Stacks {
    fn name(&self) -> &'static str {
        "stacks"
    }

    fn options(&self) -> &ViewOptions {
        &self.options
    }

    fn options_mut(&mut self) -> &mut ViewOptions {
        &mut self.options
    }

    fn text(&self, page: &mut Page<'_>, selection: &Selection) -> io::Result<()> {
        let profile = page.profile;
        if write_empty(page, &self.options.choices, selection)? {
            return crate::quality::write(page, selection, self.options.quality);
        }
        let samples = self.samples(profile, selection);
        let stacks: Vec<Vec<Place>> = samples
            .iter()
            .map(|sample| shown_stack(profile, sample.stack, self.options.choices.shown))
            .collect();
        let names = Names::of_places(profile, stacks.iter().flatten().copied());
        let mut process = None;
        for (sample, stack) in samples.iter().zip(&stacks) {
            let thread = profile.threads.get(sample.thread);
            if process.replace(thread.process) != Some(thread.process) {
                write_process(page, thread.process)?;
            }
            let mut line = Line::default();
            let name = profile.strings.get(thread.name);
            line.push_fmt(format_args!("Thread {}", thread.number), BOLD);
            if !name.is_empty() {
                line.push(" ", Style::PLAIN);
                line.push(name, BOLD);
            }
            line.push_fmt(format_args!(" (tid {})", thread.tid), GRAY);
            line.push(": ", Style::PLAIN);
            line.push(doing(sample), style(sample));
            page.line(&mut line)?;
            let shown = self.options.choices.shown;
            let locals = self.locals_of(profile, sample);
            let locals = locals::of_places(profile, sample.stack, shown, locals);
            let mut before = None;
            for (index, &place) in stack.iter().enumerate() {
                line.push("    ", Style::PLAIN);
                line.push(names.function(place), Style::PLAIN);
                let at = names.at(place);
                if !at.is_empty() {
                    line.push("  ", Style::PLAIN);
                    line.push(&at, Style { link: true, ..GRAY });
                }
                if let Place::Frame(frame) = place {
                    let frame = profile.frames.get(frame);
                    line.link = page.link(frame.file, frame.line);
                }
                page.line(&mut line)?;
                if let Some(&Some(locals)) = locals.get(index) {
                    locals::write(page, locals, before.replace(locals))?;
                }
            }
        }
        write_filter(page, &self.options.choices, selection)?;
        crate::quality::write(page, selection, self.options.quality)
    }

    fn members(&self, profile: &Profile, selection: &Selection, json: &mut Json<'_>) {
        json.array("threads", |json| {
            for sample in self.samples(profile, selection) {
                let thread = profile.threads.get(sample.thread);
                json.object("", |json| {
                    json.number("pid", profile.processes[thread.process.index()].pid.into());
                    json.number("thread", thread.number);
                    json.number("tid", thread.tid.into());
                    json.text("name", profile.strings.get(thread.name));
                    json.text("state", doing(sample));
                    let shown = self.options.choices.shown;
                    let locals = self.locals_of(profile, sample);
                    let locals = locals::of_places(profile, sample.stack, shown, locals);
                    json.array("frames", |json| {
                        let stack = shown_stack(profile, sample.stack, shown);
                        for (index, &at) in stack.iter().enumerate() {
                            json.row("", |json| {
                                place(json, profile, at);
                                if let Some(Some(locals)) = locals.get(index) {
                                    locals::members(json, locals);
                                }
                            });
                        }
                    });
                });
            }
        });
    }
}

fn write_process(page: &mut Page<'_>, process: profundo_model::ProcessId) -> io::Result<()> {
    let profile = page.profile;
    let row = &profile.processes[process.index()];
    let mut line = Line::default();
    line.push_fmt(format_args!("Process {}", row.pid), BOLD);
    line.push(": ", Style::PLAIN);
    line.push(profile.strings.get(row.command), Style::PLAIN);
    let runtime = profile.strings.get(row.runtime);
    if !runtime.is_empty() {
        line.push("  ", Style::PLAIN);
        line.push(runtime, GRAY);
    }
    page.line(&mut line)?;
    page.plain("")
}

/// The thread's activity.
fn doing(sample: &Sample) -> &'static str {
    match (sample.state, sample.gil) {
        (State::WallWaiting | State::Sleeping, Gil::Waiting) => "waits for the GIL",
        (State::WallWaiting | State::Sleeping, _) => "waits",
        (State::System, _) => "in the kernel",
        (State::Running | State::WallRunning, Gil::Held) => "runs, holds the GIL",
        _ => "runs",
    }
}

fn style(sample: &Sample) -> Style {
    match sample.state {
        State::WallWaiting | State::Sleeping => Style::hue(Hue::Waiting),
        State::System => Style::hue(Hue::System),
        _ => BOLD,
    }
}
