//! Reducing a profile to a part, for readers without filters.

use profundo_model::{Profile, Site};

use crate::admit::Admitted;
use crate::{Filter, Selection, traced};

/// Keeps only samples, calls, lines, blocks, sums, spans and marks that pass.
pub fn keep_only(profile: &mut Profile, filter: &Filter) {
    if filter.is_all() {
        return;
    }
    let selection = Selection::new(profile, filter);
    let samples = selection.samples(profile).copied().collect();
    if profile.gathered.is_any() {
        profile.gathered.keep(&selection.by_row(profile));
    }
    let admitted = Admitted::new(profile, filter);
    traced::keep_only(profile, &selection, filter);
    profile.samples = samples;
    let spans = &mut profile.spans;
    let has_time = filter.from.is_some() || filter.to.is_some();
    spans.each.retain(|span| {
        admitted.owner(span.thread, span.task, span.path) && admitted.overlaps(span.from, span.to)
    });
    spans
        .sums
        .retain(|sum| !has_time && admitted.sum_of_spans(sum.process, sum.thread, sum.path));
    spans.marks.retain(|mark| {
        admitted.owner(mark.thread, mark.task, mark.span)
            && admitted.overlaps(mark.time, Some(mark.time))
    });
    let heap = &mut profile.heap;
    let passes = |site: &Site| admitted.sum(site.process, site.stack);
    let kept: Vec<bool> = heap.sites.iter().map(passes).collect();
    heap.blocks.retain(|block| {
        admitted.event(
            block.thread,
            block.task,
            block.time,
            block.stack,
            block.span,
        )
    });
    heap.copies
        .retain(|copy| admitted.by_thread(copy.thread, copy.time, copy.stack));
    // Moments refer to sites by their numbers, so removed sites leave their places empty.
    for (site, _) in heap.sites.iter_mut().zip(&kept).filter(|(_, kept)| !**kept) {
        *site = Site {
            process: site.process,
            stack: site.stack,
            domain: site.domain,
            ..Site::default()
        };
    }
    heap.moments
        .retain(|moment| kept.get(moment.site as usize).is_some_and(|kept| *kept));
}
