//! The first line of a sample: `comm pid/tid [cpu] time: period event:`. Most parts can be left out
//! (`perf script -F`), and the command may have spaces, digits and colons. So the line is taken
//! apart around the time, which nothing else looks like.

/// The parts of the line. The trimmed parts that it lacks are empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Header<'a> {
    /// The name of the thread.
    pub comm: &'a [u8],
    pub pid: Option<u32>,
    pub tid: Option<u32>,
    /// Nanoseconds.
    pub time: Option<u64>,
    pub period: Option<u64>,
    pub event: &'a [u8],
    /// The frame, or the fields of a tracepoint.
    pub rest: &'a [u8],
    /// Whether no other line looks like this one.
    pub is_sure: bool,
}

/// Takes a line apart.
pub(super) fn parse(line: &[u8]) -> Option<Header<'_>> {
    let line = line.trim_ascii();
    if let Some((left, time, right)) = around_time(line) {
        let mut header = Header {
            time: Some(time),
            is_sure: true,
            ..thread(left)
        };
        behind_time(right, &mut header);
        return Some(header);
    }
    if let Some((left, right)) = around_cpu(line) {
        let mut header = Header {
            is_sure: true,
            ..thread(left)
        };
        behind_time(right, &mut header);
        return Some(header);
    }
    let header = without_time(line);
    (!line.is_empty()).then_some(header)
}

/// The text before the first `seconds.fraction:`, the time, and the text behind it.
fn around_time(line: &[u8]) -> Option<(&[u8], u64, &[u8])> {
    for colon in memchr::memchr_iter(b':', line) {
        if !matches!(line.get(colon + 1), None | Some(b' ' | b'\t')) {
            continue;
        }
        let start = memchr::memrchr2(b' ', b'\t', line.get(..colon)?).map_or(0, |space| space + 1);
        let is_simpleperf = line.get(colon + 1) == Some(&b'\t');
        let seconds = |text: &[u8]| seconds(text, is_simpleperf);
        if let Some(time) = line.get(start..colon).and_then(seconds) {
            return Some((&line[..start], time, &line[colon + 1..]));
        }
    }
    None
}

/// Seconds with a fraction as nanoseconds. simpleperf leaves out the zeros before the microseconds.
fn seconds(text: &[u8], is_simpleperf: bool) -> Option<u64> {
    let point = memchr::memchr(b'.', text)?;
    let (whole, fraction) = (&text[..point], &text[point + 1..]);
    let scale = match fraction.len() {
        1..=6 if is_simpleperf => 1_000,
        6 => 1_000,
        9 => 1,
        _ => return None,
    };
    let fraction = number(fraction)? * scale;
    number(whole)?
        .checked_mul(1_000_000_000)?
        .checked_add(fraction)
}

fn around_cpu(line: &[u8]) -> Option<(&[u8], &[u8])> {
    for open in memchr::memchr_iter(b'[', line) {
        let rest = &line[open + 1..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let is_apart = open == 0 || matches!(line[open - 1], b' ' | b'\t');
        if digits >= 3 && is_apart && rest.get(digits) == Some(&b']') {
            return Some((&line[..open], &rest[digits + 1..]));
        }
    }
    None
}

/// The command and the numbers of the thread.
fn thread(left: &[u8]) -> Header<'_> {
    let mut left = left.trim_ascii_end();
    let mut header = Header::default();
    if let Some((rest, word)) = last_word(left)
        && is_cpu(word)
    {
        left = rest;
    }
    if let Some((rest, word)) = last_word(left)
        && let Some((pid, tid)) = numbers(word)
    {
        (header.pid, header.tid) = (pid, Some(tid));
        left = rest;
    }
    header.comm = left.trim_ascii();
    header
}

/// The period, the event and what follows.
fn behind_time<'a>(right: &'a [u8], header: &mut Header<'a>) {
    let mut right = right.trim_ascii();
    let digits = right
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if digits > 0 && matches!(right.get(digits), None | Some(b' ' | b'\t')) {
        let behind = right[digits..].trim_ascii_start();
        // Else it is the address of a frame.
        if behind.is_empty() || is_frame(behind) || event_end(behind).is_some() {
            header.period = number(&right[..digits]);
            right = behind;
        }
    }
    header.rest = right;
    if let Some(colon) = event_end(right) {
        header.event = &right[..colon];
        header.rest = right[colon + 1..].trim_ascii();
    }
}

/// The colon behind an event's name.
fn event_end(text: &[u8]) -> Option<usize> {
    let is_end = |&colon: &usize| matches!(text.get(colon + 1), None | Some(b' ' | b'\t'));
    let mut colons = memchr::memchr_iter(b':', text).filter(is_end);
    colons.next().filter(|_| !is_frame(text))
}

/// A line without a time: the numbers stand before the event, or before the frame.
fn without_time(line: &[u8]) -> Header<'_> {
    let mut head = line;
    let mut header = Header::default();
    // The event is the last word with a colon before a frame.
    let colons = memchr::memchr_iter(b':', line);
    let is_end = |&colon: &usize| match line.get(colon + 1..) {
        None | Some([]) => true,
        Some([b' ' | b'\t', rest @ ..]) => is_frame(rest.trim_ascii_start()),
        Some(_) => false,
    };
    let mut ends = colons.filter(is_end);
    if let Some(colon) = ends.next_back() {
        let start = memchr::memrchr2(b' ', b'\t', &line[..colon]).map_or(0, |space| space + 1);
        let event = &line[start..colon];
        if number(event).is_none() && start > 0 {
            header.event = event;
            header.rest = line[colon + 1..].trim_ascii();
            header.is_sure = true;
            head = line[..start].trim_ascii_end();
        }
    } else if let Some(frame) = frame_in(line) {
        header.rest = &line[frame..];
        head = line[..frame].trim_ascii_end();
    }
    let mut words = [None; 2];
    for word in &mut words {
        if let Some((rest, last)) = last_word(head)
            && let Some(found) = numbers(last)
        {
            *word = Some(found);
            head = rest.trim_ascii_end();
            if found.0.is_some() {
                break;
            }
        }
    }
    match words {
        [Some((None, period)), Some((pid, tid))] => {
            header.period = Some(u64::from(period));
            (header.pid, header.tid) = (pid, Some(tid));
            header.is_sure |= pid.is_some();
        }
        [Some((pid, tid)), _] => {
            (header.pid, header.tid) = (pid, Some(tid));
            header.is_sure |= pid.is_some();
        }
        [None, _] => {}
    }
    header.comm = head.trim_ascii();
    header
}

/// The start of a frame in a line that has numbers before it.
fn frame_in(line: &[u8]) -> Option<usize> {
    let mut at = 0;
    let mut after_number = false;
    while let Some(rest) = line.get(at..).filter(|rest| !rest.is_empty()) {
        let spaces = rest
            .iter()
            .take_while(|byte| byte.is_ascii_whitespace())
            .count();
        let word = rest[spaces..].split(u8::is_ascii_whitespace).next()?;
        if word.is_empty() {
            return None;
        }
        let is_decimal = word.iter().all(u8::is_ascii_digit);
        let start = at + spaces;
        if after_number && !is_decimal && is_frame(&line[start..]) {
            return Some(start);
        }
        after_number |= numbers(word).is_some();
        at = start + word.len();
    }
    None
}

/// Whether a text begins like a frame: with an address, and something behind it.
pub(super) fn is_frame(text: &[u8]) -> bool {
    let digits = text.iter().take_while(|byte| byte.is_ascii_hexdigit());
    let digits = digits.count();
    (1..=16).contains(&digits) && matches!(text.get(digits), Some(b' ' | b'\t'))
}

fn last_word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.trim_ascii_end();
    let start = memchr::memrchr2(b' ', b'\t', text).map_or(0, |space| space + 1);
    (!text.is_empty()).then(|| (&text[..start], &text[start..]))
}

fn is_cpu(word: &[u8]) -> bool {
    matches!(word, [b'[', digits @ .., b']'] if number(digits).is_some())
}

/// `pid/tid`, or `tid`. Unknown ones are -1.
fn numbers(word: &[u8]) -> Option<(Option<u32>, u32)> {
    match memchr::memchr(b'/', word) {
        Some(slash) => Some((Some(id(&word[..slash])?), id(&word[slash + 1..])?)),
        None => Some((None, id(word)?)),
    }
}

fn id(digits: &[u8]) -> Option<u32> {
    match digits {
        b"-1" => Some(0),
        _ => number(digits).and_then(|number| u32::try_from(number).ok()),
    }
}

/// A decimal number.
pub(super) fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 19 {
        return None;
    }
    digits.iter().try_fold(0_u64, |sum, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts as text.
    fn check(line: &str, expected: &str) {
        let found = parse(line.as_bytes()).expect("a line");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let optional = |number: Option<u64>| number.map_or("-".to_owned(), |it| it.to_string());
        let shown = format!(
            "{}|{}/{}|{}|{}|{}|{}",
            text(found.comm),
            optional(found.pid.map(u64::from)),
            optional(found.tid.map(u64::from)),
            optional(found.time),
            optional(found.period),
            text(found.event),
            text(found.rest),
        );
        assert_eq!(shown, expected, "{line}");
    }

    #[test]
    fn the_usual_parts() {
        check(
            "work 31978  3128.060617:    5025125 cpu-clock: ",
            "work|-/31978|3128060617000|5025125|cpu-clock|",
        );
        check(
            "side 12: io/0 12/13 [001]  3128.060617890:    1 cycles:ppp: ",
            "side 12: io/0|12/13|3128060617890|1|cycles:ppp|",
        );
        check(
            "python 3.11: x 7 [000] 1.500000: sched:sched_switch: prev_comm=a b: c",
            "python 3.11: x|-/7|1500000000|-|sched:sched_switch|prev_comm=a b: c",
        );
        check(
            "swapper     0 [000] 1.000001: cycles:  ffffffff8104f45a halt ([kernel.kallsyms])",
            "swapper|-/0|1000001000|-|cycles|ffffffff8104f45a halt ([kernel.kallsyms])",
        );
        check(
            ":-1    -1  0.000000:          1 cpu-clock: ",
            ":-1|-/0|0|1|cpu-clock|",
        );
        check(
            "x 1/2 1.500000:  7 cpu/event=0x3c,name=my own/p: ",
            "x|1/2|1500000000|7|cpu/event=0x3c,name=my own/p|",
        );
    }

    #[test]
    fn simpleperf_has_tabs() {
        check(
            "Gecko\t25122 [007] 115539.936601:\t\t1000000 task-clock:u:",
            "Gecko|-/25122|115539936601000|1000000|task-clock:u|",
        );
        check(
            "a\t2 [007] 5.8374:\t\t1 cycles:",
            "a|-/2|5008374000|1|cycles|",
        );
        assert!(is_frame(b"b3cea6c4\tLock::unlock() (/system/lib/libc.so)"));
    }

    #[test]
    fn parts_that_are_left_out() {
        check("work ", "work|-/-|-|-||");
        check("31978/31980 ", "|31978/31980|-|-||");
        check("work 31978    5025125 ", "work|-/31978|-|5025125||");
        check("work 31978 cpu-clock: ", "work|-/31978|-|-|cpu-clock|");
        check("a b 1/2 [003] cycles: ", "a b|1/2|-|-|cycles|");
        check("a 1/2  1.500000: ", "a|1/2|1500000000|-||");
        check(
            "   work   316  5025125   556cdbd5527c leaf+0x2c (/tmp/w)",
            "work|-/316|-|5025125||556cdbd5527c leaf+0x2c (/tmp/w)",
        );
        check(
            "  316/318     556cdbd5527c a::b (/x: y)",
            "|316/318|-|-||556cdbd5527c a::b (/x: y)",
        );
        check(
            "work 316 task-clock:   556cdbd5527c leaf",
            "work|-/316|-|-|task-clock|556cdbd5527c leaf",
        );
        check(
            "work 1.500000:   556cdbd5527c a::b (/x)",
            "work|-/-|1500000000|-||556cdbd5527c a::b (/x)",
        );
    }
}
