//! The line on quality, and the notes that the recording left for the reader. They have only known
//! facts.

mod unsampled;
pub(crate) mod warning;

use std::io;

use profundo_analysis::{
    Filter, Intervals, Missing, Quality, Selection, Uncounted, Whole, missing_beside, quality,
    traced, unattributed,
};
use profundo_model::{Callers, Clock, Engine, Heap, Part, Profile, Sampling};

use crate::naming::weighs::Weighs;
use crate::page::Page;
use crate::page::palette::Color;
use crate::page::units::{bytes, counted, duration};

/// Writes the line and the notes, where they are wanted.
pub(crate) fn write(
    page: &mut Page<'_>,
    selection: &Selection,
    wanted: Option<bool>,
) -> io::Result<()> {
    let meta = &page.profile.meta;
    let weighs = Weighs::of(page.profile);
    if weighs == Weighs::Traced {
        if wanted != Some(false) {
            write_traced(page, selection)?;
        }
    } else if matches!(weighs, Weighs::Events { .. }) {
        if wanted != Some(false) {
            write_events(page, selection)?;
        }
    } else if weighs != Weighs::Time {
        if wanted != Some(false) {
            let all = match (weighs.whole(), selection.weight(page.profile)) {
                ("blocks", count) => counted(count, "block"),
                ("copies", count) => counted(count, "time"),
                (_, size) => bytes(size),
            };
            let (whole, which) = (weighs.whole(), weighs.which());
            let heap = &page.profile.heap;
            let records = selection.len() as u64;
            let how = match weighs.heap().map(|measure| measure.part) {
                Some(Part::Copied) => how_copies(heap, records),
                _ => how_allocations(page.profile, heap.sampling, heap.coarsest(), records),
            };
            page.sentence(&format!(
                "Memory: {all} {which}; shares are of these {whole}."
            ))?;
            page.sentence(&how)?;
        }
    } else if page.profile.samples.is_empty() && !page.profile.traced.lines.is_empty() {
        // No sampler has run.
    } else if wanted.unwrap_or(meta.engine != Engine::Unknown) {
        let text = sentence(&quality(page.profile, selection), meta.loss.overwritten);
        page.sentence(&format!("Quality: {text}."))?;
    }
    write_notes(page, wanted)
}

/// Writes the events that weights are numbers of.
fn write_events(page: &mut Page<'_>, selection: &Selection) -> io::Result<()> {
    let weight = selection.weight(page.profile);
    let event = &page.profile.meta.event;
    let text = match &event[..] {
        "" => format!(
            "Weights: {}; the time that one stands for is not known.",
            counted(weight, "sample")
        ),
        event if page.profile.counts_each_event() => {
            format!("Weights: {weight} {event}; each was counted, so the numbers are exact.")
        }
        event => format!("Weights: {weight} {event}."),
    };
    page.sentence(&text)
}

/// Writes how good the recording is in a sentence or two that need no knowledge of profilers, then
/// the notes. The other reports have all of the figures.
pub(crate) fn write_plainly(
    page: &mut Page<'_>,
    selection: &Selection,
    wanted: Option<bool>,
) -> io::Result<()> {
    let meta = &page.profile.meta;
    let is_sampled = Weighs::of(page.profile) == Weighs::Time && !page.profile.samples.is_empty();
    if !is_sampled || meta.engine == Engine::Unknown {
        return write(page, selection, wanted);
    }
    if wanted.unwrap_or(true) {
        let text = plain(&quality(page.profile, selection), meta.loss.overwritten);
        page.sentence(&format!("Quality: {text}"))?;
    }
    write_notes(page, wanted)
}

/// Writes that samples are too few for shares, and how to get more.
pub(crate) fn write_few(
    page: &mut Page<'_>,
    selection: &Selection,
    is_command: bool,
) -> io::Result<()> {
    if !selection.is_few(page.profile) {
        return Ok(());
    }
    let taken = selection.taken(page.profile);
    let weighs = Weighs::of(page.profile);
    let remedy = match (weighs, is_command) {
        (Weighs::Time, true) => "a longer run or a higher rate (--rate) gives more",
        (Weighs::Time, false) => "a longer run or a shorter `delay` gives more",
        (Weighs::Events { .. }, _) => "a longer run gives more",
        (_, true) => "a longer run gives more, and --memory=exact records all",
        (_, false) => "a longer run or a higher sample rate gives more",
    };
    let verb = if taken == 1 { "is" } else { "are" };
    let samples = weighs.samples(taken);
    let text = format!(" {samples} {verb} too few for shares: {remedy}.");
    page.marked("Note:", Color::Cyan, &text)
}

/// Writes the notes, where they are wanted.
pub(crate) fn write_notes(page: &mut Page<'_>, wanted: Option<bool>) -> io::Result<()> {
    for note in &page.profile.meta.notes {
        if wanted.unwrap_or(true) {
            page.marked("Note:", Color::Cyan, &format!(" {note}"))?;
        }
    }
    Ok(())
}

/// The wholes that rows show when a report weighs samples.
pub(crate) const SAMPLED: &[Whole] = &[Whole::Cpu, Whole::Threads];

/// Writes the warning above the tables: that a large part is missing in them.
pub(crate) fn write_grave(
    page: &mut Page<'_>,
    wanted: Option<bool>,
    shown: &[Whole],
) -> io::Result<()> {
    if !wanted.unwrap_or(true) {
        return Ok(());
    }
    for missing in graves(page.profile, shown) {
        page.marked("Warning:", Color::Yellow, &format!(" {}", words(&missing)))?;
    }
    Ok(())
}

/// The parts missing of these wholes that are so large that a warning is due.
pub(crate) fn graves(profile: &Profile, shown: &[Whole]) -> Vec<Missing> {
    graves_beside(profile, shown, &Selection::new(profile, &Filter::default()))
}

/// The same, with a selection at hand.
pub(crate) fn graves_beside(
    profile: &Profile,
    shown: &[Whole],
    selection: &Selection,
) -> Vec<Missing> {
    let of = |&whole: &Whole| match (Weighs::of(profile), whole) {
        // Where samples weigh bytes, their rows show what was allocated.
        (Weighs::Heap(_), Whole::Cpu) => Some(Whole::Allocated),
        (Weighs::Heap(_), Whole::Threads) => None,
        _ => Some(whole),
    };
    let wholes = shown.iter().filter_map(of);
    let found = wholes.filter_map(|whole| missing_beside(profile, whole, selection));
    found
        .filter(|missing| missing.is_grave(profile.meta.period.0))
        .collect()
}

/// The warning, without the word.
pub fn words(missing: &Missing) -> String {
    let parts: Vec<String> = (missing.causes.iter())
        .map(|&(cause, part)| {
            let share = missing.share(part) * 100.0;
            format!("{} {share:.1} %", cause.words())
        })
        .collect();
    let what = match missing.of {
        Whole::Cpu => "the CPU time was not sampled or could not be read",
        Whole::Threads => "the threads' time was not sampled or could not be read",
        Whole::Allocated => "the allocated bytes have no function or line",
        Whole::Traffic => "the bytes read and written have no line",
    };
    format!(
        "{:.1} % of {what}: {}.",
        missing.share(missing.sum()) * 100.0,
        parts.join(", ")
    )
}

/// Writes the notes on whole processes that are missing in a table, above that. [`write_notes`]
/// writes all notes, these again.
pub(crate) fn write_missing(page: &mut Page<'_>, wanted: Option<bool>) -> io::Result<()> {
    const MISSING: [&str; 2] = ["calls were not counted", "lines were not counted"];
    let notes = page.profile.meta.notes.iter();
    let is_missing = |note: &&String| MISSING.iter().any(|end| note.ends_with(end));
    for note in notes.filter(is_missing) {
        if wanted.unwrap_or(true) {
            page.marked("Warning:", Color::Yellow, &format!(" {note}."))?;
        }
    }
    Ok(())
}

/// Writes what the tracing of calls has cost, and where it could not keep all callers.
fn write_traced(page: &mut Page<'_>, selection: &Selection) -> io::Result<()> {
    let sum = traced(page.profile, selection).sum();
    if sum.own_cost > 0 && page.profile.traced.clock != Clock::None {
        let measured = sum.own.saturating_add(sum.own_cost);
        page.sentence(&format!(
            "Tracing: {} were measured, of which {} were the tracing itself and are taken off: {} are left.",
            duration(measured),
            duration(sum.own_cost),
            duration(sum.own),
        ))?;
    }
    let calls = &page.profile.traced.calls;
    let cut = calls
        .iter()
        .filter(|call| call.callers != Callers::All)
        .count();
    if cut == 0 {
        return Ok(());
    }
    page.sentence(&format!(
        "Calls came from very many places: at {cut} of {} only the last caller is known, so trees begin anew there. Tables are whole.",
        calls.len(),
    ))
}

/// A sentence on how allocations were recorded, how many, and how sure the numbers are.
pub(crate) fn how_allocations(
    profile: &Profile,
    sampling: Sampling,
    coarsest: Sampling,
    records: u64,
) -> String {
    const RANGES: &str = "ranges hold the true value 95 times in 100";
    match sampling {
        Sampling::All => every_allocation(profile),
        Sampling::Bytes(mean) => {
            let most = match coarsest {
                Sampling::Bytes(most) => most.max(mean),
                _ => mean,
            };
            let where_many = match most > mean {
                true => format!(", down to each {} where there were very many", bytes(most)),
                false => String::new(),
            };
            format!(
                "Quality: {} recorded, one about each {}{where_many}; {RANGES}. A line with less than {} may be missing.",
                counted(records, "allocation"),
                bytes(mean),
                bytes(most.saturating_mul(3)),
            )
        }
        Sampling::Events(rate) => format!(
            "Quality: {} recorded, each with a chance of {rate}; {RANGES}.",
            counted(records, "allocation"),
        ),
        Sampling::None => "Quality: it is not known how allocations were recorded.".to_owned(),
    }
}

/// The sentence where every allocation was to be recorded.
fn every_allocation(profile: &Profile) -> String {
    /// The recorder's words in a note on allocations, or ends of blocks, that are in no sum.
    const UNCOUNTED: &str = "were counted in no stack";
    let lost = unattributed(profile);
    if lost.count > 0 {
        return format!(
            "Quality: every allocation was recorded. Of {} in {} frames were not kept for want of room: sums are exact, and lines \
             and functions may have more than they show.",
            bytes(lost.bytes),
            counted(lost.count, "allocation"),
        );
    }
    let mut notes = profile.meta.notes.iter();
    match notes.any(|note| note.contains(UNCOUNTED)) {
        true => "Quality: not every allocation was recorded, as a note says.".to_owned(),
        false => "Quality: every allocation was recorded; the numbers are exact.".to_owned(),
    }
}

/// The sentence for copies.
pub(crate) fn how_copies(heap: &Heap, records: u64) -> String {
    let floor = bytes(heap.copies_from);
    match heap.copying {
        Sampling::Bytes(mean) => format!(
            "Quality: {records} copies of {floor} and more recorded, one about each {}; ranges hold the true value 95 times in 100.",
            bytes(mean),
        ),
        _ => format!("Quality: {records} copies of {floor} and more recorded."),
    }
}

/// The sentences for new readers.
fn plain(quality: &Quality, overwritten: u64) -> String {
    let is_sparse = quality.margin.is_some_and(|margin| margin > WIDE_MARGIN);
    let grade = match (grade(quality, overwritten), is_sparse) {
        (Some("good"), true) => "good, but there are few samples. ".to_owned(),
        (Some(grade), true) => format!("{grade}, and there are few samples. "),
        (Some(grade), false) => format!("{grade}. "),
        (None, _) => String::new(),
    };
    let mut text = format!("{grade}{}", counted(quality.samples, "sample"));
    if let Some(share) = quality.sampled_share() {
        let verb = if quality.samples == 1 {
            "covers"
        } else {
            "cover"
        };
        let used = duration(quality.used.unwrap_or_default());
        let part = match share {
            all if (all - 1.0).abs() < 0.015 => "all".to_owned(),
            share => format!("{:.1} %", share * 100.0),
        };
        text += &format!(" {verb} {part} of {used} CPU time");
    }
    text.push('.');
    let missing = [
        (quality.lost.saturating_sub(overwritten), "lost"),
        (overwritten, "overwritten by newer ones"),
        (quality.truncated, "cut short (truncated)"),
        (quality.broken, "without their callers (broken)"),
    ];
    let missing = missing.iter().filter(|(count, _)| *count > 0);
    let missing: Vec<String> = missing
        .map(|(count, how)| format!("{count} {how}"))
        .collect();
    if !missing.is_empty() {
        text += &format!(" Of the samples, {}.", missing.join(", "));
    }
    if let Some(share) = share_at_ticks(quality) {
        text += &format!(
            " {share:.0} % of it was sampled at the kernel's timer ticks, so work that is timed by the same ticks may be over- or \
             undercounted."
        );
    }
    match quality.intervals {
        Intervals::Samples => {}
        Intervals::SamplesOfSeveral => text += " Behind ± are the samples alone.",
        Intervals::Runs(runs) => {
            text += &format!(" Behind ± is the spread between the {runs} runs.");
        }
    }
    if let Some(part) = own_cost(quality) {
        let mut letters = part.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        text.push(' ');
        text.extend(first);
        text.push_str(letters.as_str());
        text.push('.');
    }
    text
}

/// A margin that the report remarks on.
const WIDE_MARGIN: f64 = 0.05;

/// The grade of a recording, where the figures suffice for one.
fn grade(quality: &Quality, overwritten: u64) -> Option<&'static str> {
    let covered = (quality.sampled_share()? - 1.0).abs();
    let lost = quality.lost.saturating_sub(overwritten);
    let flawed = lost as f64 + quality.truncated as f64 + quality.broken as f64;
    let flawed = flawed / quality.samples.max(1) as f64;
    let cost = quality.own_cost.unwrap_or(0.0);
    quality.margin?;
    Some(match (covered, flawed, cost) {
        (covered, flawed, cost) if covered <= 0.05 && flawed <= 0.01 && cost <= 0.2 => "good",
        (covered, flawed, cost) if covered <= 0.15 && flawed <= 0.05 && cost <= 0.5 => "fair",
        _ => "poor",
    })
}

/// The sentence on lost and flawed samples. Samples that a ring gave up for newer ones are no
/// defect.
fn sentence(quality: &Quality, overwritten: u64) -> String {
    let &Quality {
        samples,
        lost,
        truncated,
        broken,
        ..
    } = quality;
    let mut parts = Vec::new();
    if let Some(used) = quality.used {
        parts.push(time_sampled(quality, used));
    }
    let plural = if samples == 1 { "" } else { "s" };
    let taken = format!("{samples} sample{plural}");
    let lost = lost.saturating_sub(overwritten);
    let given_up = match overwritten {
        0 => String::new(),
        several => format!("{several} overwritten by newer ones, "),
    };
    parts.push(format!(
        "{taken}, {given_up}{lost} lost, {truncated} truncated, {broken} broken"
    ));
    let engine = (quality.engine != Engine::Unknown).then(|| quality.engine.name());
    let period = quality
        .period
        .map(|period| format!("every {:.3} ms", period.0 as f64 / 1e6));
    // Its clocks tick in user code only. The clock for kernel time has a period of its own.
    let period = match quality.engine == Engine::PerfSignal && quality.sampled_in_kernel > 0 {
        true => period.map(|period| format!("{period}, in the kernel every few ms")),
        false => period,
    };
    let how: Vec<String> = engine
        .map(str::to_owned)
        .into_iter()
        .chain(period)
        .collect();
    let how = [how.join(" ")].into_iter().filter(|how| !how.is_empty());
    let how: Vec<String> = how.chain(at_ticks(quality)).collect();
    if !how.is_empty() {
        parts.push(how.join(", "));
    }
    parts.extend(own_cost(quality));
    if let Some(margin) = quality.margin {
        let points = format!("shares are ± {:.1} points (95 %)", margin * 100.0);
        parts.push(match quality.intervals {
            Intervals::Samples => points,
            Intervals::SamplesOfSeveral => format!("{points} by the samples alone"),
            Intervals::Runs(runs) => {
                format!("{points} by the samples, and more where the {runs} runs differ")
            }
        });
    }
    parts.join("; ")
}

/// The part in percent that was sampled at the kernel's ticks, which come at fixed times. A little
/// of it does not matter.
fn share_at_ticks(quality: &Quality) -> Option<f64> {
    /// Each thread begins at ticks. Less than this part of all does not matter.
    const LEAST_PART: u64 = 20;
    if quality.engine == Engine::CpuTimer {
        return Some(100.0);
    }
    let time = quality.by_ticks?;
    (time.saturating_mul(LEAST_PART) >= quality.sampled)
        .then(|| (time as f64 / quality.sampled.max(1) as f64 * 100.0).min(100.0))
}

/// The words for [`share_at_ticks`], with the reason: all of it, or some threads.
fn at_ticks(quality: &Quality) -> Option<String> {
    const IN_STEP: &str = "work that is timed by them may be over- or undercounted";
    let share = share_at_ticks(quality)?;
    if quality.engine == Engine::CpuTimer {
        return Some(format!("at the kernel's ticks ({IN_STEP})"));
    }
    Some(format!(
        "{share:.0} % at the kernel's ticks (threads that are short or switch often; {IN_STEP})"
    ))
}

/// The cost of profiling: of a program that is read from outside, how long it was held, and the CPU
/// time of the other process.
fn own_cost(quality: &Quality) -> Option<String> {
    let cost = quality.own_cost.map(|cost| cost * 100.0);
    if let Some(cpu) = quality.recorder_cpu {
        let held =
            cost.map(|cost| format!("the program was held for {cost:.1} % of its CPU time, "));
        let held = held.unwrap_or_default();
        return Some(format!(
            "own cost: {held}profundo itself used {} CPU",
            duration(cpu)
        ));
    }
    let is_recorded = quality.used.is_some() && quality.engine == Engine::PerfSignal;
    if cost.is_none() && is_recorded && quality.samples > 0 {
        return Some("own cost not known".to_owned());
    }
    cost.map(|cost| match quality.not_in_own_cost {
        Some(Uncounted::Processes) => format!(
            "own cost at least {cost:.1} % (not counted: processes start and end more slowly, and profundo's own process)"
        ),
        Some(Uncounted::Switches) => format!(
            "own cost at least {cost:.1} % (not counted: threads that switch often may wait longer for each other)"
        ),
        None => format!("own cost {cost:.1} %"),
    })
}

/// The CPU time that was sampled and the CPU time that was used, whose quotient is the share beside
/// them.
fn time_sampled(quality: &Quality, used: u64) -> String {
    let mut text = format!(
        "{} of {} CPU time sampled",
        exact(quality.sampled, used),
        exact(used, used)
    );
    if let Some(share) = quality.sampled_share() {
        text += &format!(" ({:.1} %)", share * 100.0);
    }
    if let Some(in_kernel) = quality.used_in_kernel.filter(|&time| time > 0) {
        let sampled = quality.sampled_in_kernel;
        text += &match quality.kernel_is_rough() {
            true => format!(
                ", in the kernel {} (about {} by the kernel's ticks)",
                exact(sampled, sampled),
                exact(in_kernel, sampled)
            ),
            false => format!(
                ", in the kernel {} of {}",
                exact(sampled, in_kernel),
                exact(in_kernel, in_kernel)
            ),
        };
    }
    text
}

/// A time in the unit that suits `beside`, with enough digits to check quotients.
fn exact(nanos: u64, beside: u64) -> String {
    match beside {
        0..1_000_000_000 => format!("{:.3} ms", nanos as f64 / 1e6),
        _ => format!("{:.3} s", nanos as f64 / 1e9),
    }
}
