//! The answers: a file for each question.

mod about;
mod diff;
mod diff_flame;
mod export;
mod flame;
mod given;
mod graph;
mod heap;
mod heatmap;
mod held;
mod lanes;
mod memory_stacks;
mod report;
mod search;
mod share;
mod source;
mod timeline;
mod window;

#[cfg(test)]
mod memory_tests;
#[cfg(test)]
mod picture_tests;
#[cfg(test)]
mod tests;

use profundo_model::{Profile, SampleKind};

use crate::{Error, Library, Question};

pub(crate) use about::{Has, contents};
pub(crate) use given::Given;

/// An answer: bytes, and what they are.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub bytes: Vec<u8>,
    pub is: &'static str,
}

impl Answer {
    fn json(value: &impl serde::Serialize) -> Result<Self, Error> {
        Ok(Self {
            bytes: serde_json::to_vec(value)?,
            is: "application/json",
        })
    }

    /// An answer that is JSON already.
    fn of_json(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            is: "application/json",
        }
    }
}

/// Answers a question.
pub(crate) fn answer(library: &Library, question: &Question) -> Result<Answer, Error> {
    match question.name() {
        // These look at more than the recordings.
        "alive" | "about" | "source" => find(library, question),
        _ => (library.given).answer(question, || library.version(), || find(library, question)),
    }
}

fn find(library: &Library, question: &Question) -> Result<Answer, Error> {
    match question.name() {
        "alive" => about::alive(library),
        "about" => about::about(library),
        "report" => report::report(library, question),
        "export" => export::export(library, question),
        "share" => share::share(library, question),
        "source" => source::source(library, question),
        "search" => search::search(library, question),
        "diff" => diff::diff(library, question),
        "diff_flame" => diff_flame::diff_flame(library, question),
        "flame" => flame::flame(library, question),
        "graph" => graph::graph(library, question),
        "held" => held::held(library, question),
        "heap" => heap::heap(library, question),
        "heatmap" => heatmap::heatmap(library, question),
        "lanes" => lanes::lanes(library, question),
        "memory_stacks" => memory_stacks::memory_stacks(library, question),
        "timeline" => timeline::timeline(library, question),
        other => Err(Error::Unknown(other.to_owned())),
    }
}

/// What samples weigh.
fn unit(profile: &Profile) -> &'static str {
    match profile.meta.kind {
        SampleKind::Events => "events",
        SampleKind::Heap(measure) if measure.counts => "blocks",
        SampleKind::Heap(_) => "bytes",
        _ => "time",
    }
}
