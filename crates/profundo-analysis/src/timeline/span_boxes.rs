//! Spans as boxes in lanes: spans that overlap lie in different lanes, and those that are too short
//! to be seen are one box with their number.

use profundo_model::{Profile, SpanId};

use super::Window;
use crate::Filter;
use crate::admit::Admitted;

/// A span, or several short ones side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanBox {
    /// The path of the first.
    pub path: SpanId,
    /// The lane, from 0.
    pub lane: u32,
    /// The start of the first.
    pub from: u64,
    /// The end of the last. An open one ends with the window.
    pub to: u64,
    /// Whether the last was open at the end of the recording.
    pub is_open: bool,
    /// Their number.
    pub count: u64,
}

/// The spans of a window.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SpanLanes {
    /// By lane, in the order of time.
    pub boxes: Vec<SpanBox>,
    /// The number of lanes.
    pub lanes: u32,
    /// The number of spans that would have needed more lanes.
    pub left_out: u64,
}

/// The spans of a window that pass, in at most `most` lanes.
pub fn span_boxes(profile: &Profile, filter: &Filter, window: Window, most: usize) -> SpanLanes {
    let admitted = Admitted::new(profile, filter);
    let (from, to) = (window.from, window.to());
    let mut spans: Vec<SpanBox> = (profile.spans.each.iter())
        .filter(|span| admitted.owner(span.thread, span.task, span.path))
        .map(|span| SpanBox {
            path: span.path,
            lane: 0,
            from: span.from.0,
            to: span.to.map_or(to, |to| to.0).max(span.from.0),
            is_open: span.to.is_none(),
            count: 1,
        })
        .filter(|span| span.from < to && span.to >= from)
        .collect();
    // The longer one first, where two begin together: the span around comes before those in it.
    spans.sort_by_key(|span| (span.from, std::cmp::Reverse(span.to)));
    let mut lanes: Vec<Vec<SpanBox>> = Vec::new();
    let mut left_out = 0;
    for span in spans {
        let is_short = span.to - span.from < window.step;
        let fits = |lane: &Vec<SpanBox>| {
            lane.last()
                .is_none_or(|last| last.to <= span.from || is_short && joins(last, &span, window))
        };
        let lane = match lanes.iter().position(fits) {
            Some(lane) => lane,
            None if lanes.len() < most => {
                lanes.push(Vec::new());
                lanes.len() - 1
            }
            None => {
                left_out += 1;
                continue;
            }
        };
        let number = lane as u32;
        let lane = &mut lanes[lane];
        match lane.last_mut() {
            Some(last) if is_short && joins(last, &span, window) => {
                last.to = last.to.max(span.to);
                last.is_open |= span.is_open;
                last.count += 1;
            }
            _ => lane.push(SpanBox {
                lane: number,
                ..span
            }),
        }
    }
    SpanLanes {
        lanes: lanes.len() as u32,
        boxes: lanes.into_iter().flatten().collect(),
        left_out,
    }
}

/// Whether a short span is one with those before it: they are short too, and as near as a column.
fn joins(last: &SpanBox, span: &SpanBox, window: Window) -> bool {
    let length = last.to - last.from;
    let each = length / last.count;
    each < window.step && span.from.saturating_sub(last.to) < window.step
}
