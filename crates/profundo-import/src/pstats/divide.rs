//! The calls of a function, divided among its callers such that the table of calls that is made of
//! the parts is the one of the file.
//!
//! The file has the sums of a function, and the sums of its calls by each caller. In the sums of a
//! recursive function, only its outermost calls have their whole time; by caller, only those with
//! no call by the same caller further up. How many of a caller's calls are outermost ones is not in
//! the file: the parts are in proportion then.

/// The sums of calls. Times are in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Sums {
    pub all: u64,
    /// The calls with none of the same further up: Python's primitive calls.
    pub outermost: u64,
    pub own: u64,
    /// The time of the outermost calls, callees included.
    pub total: u64,
}

/// The calls by one caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ByCaller {
    /// The row of the caller.
    pub caller: u32,
    pub sums: Sums,
    /// Whether the caller is the function itself.
    pub is_self: bool,
}

/// Calls that are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    /// The row of the caller, if there is one.
    pub caller: Option<u32>,
    pub calls: u64,
    pub own: u64,
    pub total: u64,
    /// Whether the function is also further up.
    pub is_recursive: bool,
    /// Whether the function is also further up, called by the same caller.
    pub is_repeated: bool,
}

/// Gives calls of which only the number is known their share of the function's time.
pub(super) fn share(function: Sums, pairs: &mut [ByCaller]) {
    let counts: Vec<u64> = pairs.iter().map(|pair| pair.sums.all).collect();
    let with_self = |pair: &ByCaller| u64::from(!pair.is_self) * pair.sums.all;
    let outside: Vec<u64> = pairs.iter().map(with_self).collect();
    let own = in_proportion(function.own, &counts);
    let total = in_proportion(function.total, &outside);
    for (pair, (own, total)) in pairs.iter_mut().zip(own.into_iter().zip(total)) {
        (pair.sums.own, pair.sums.total) = (own, total);
    }
}

/// The parts of a function's calls.
pub(super) fn divide(function: Sums, mut pairs: Vec<ByCaller>, parts: &mut Vec<Part>) {
    /// A smaller difference is one of rounding.
    const ROUNDING: u64 = 100;
    for pair in &mut pairs {
        pair.sums.outermost = pair.sums.outermost.min(pair.sums.all);
    }
    let by_callers = pairs
        .iter()
        .map(|pair| pair.sums.all)
        .fold(0, u64::saturating_add);
    let own_by_callers: Vec<u64> = pairs.iter().map(|pair| pair.sums.own).collect();
    let (own, mut own_rest) = fit(function.own, own_by_callers);
    let calls = function.all.saturating_sub(by_callers);
    let (outermost, totals, mut total_rest) = outermost(function, &pairs, calls, own_rest);
    let largest = (0..pairs.len()).max_by_key(|&at| pairs[at].sums.all);
    let (mut more_own, mut more_total) = (0, 0);
    if calls == 0 && own_rest <= ROUNDING && total_rest <= ROUNDING && largest.is_some() {
        (more_own, more_total) = (own_rest, total_rest);
        (own_rest, total_rest) = (0, 0);
    }
    if calls > 0 || own_rest > 0 || total_rest > 0 || pairs.is_empty() {
        parts.push(Part {
            caller: None,
            calls,
            own: own_rest,
            total: total_rest,
            is_recursive: false,
            is_repeated: false,
        });
    }
    for (at, pair) in pairs.iter().enumerate() {
        let (own, total) = (own[at], totals[at]);
        let (own, total) = match largest == Some(at) {
            true => (
                own.saturating_add(more_own),
                total.saturating_add(more_total),
            ),
            false => (own, total),
        };
        by_caller(pair, outermost[at], own, total, parts);
    }
}

/// The parts of one caller's calls, of which so many are outermost ones with so much time.
fn by_caller(pair: &ByCaller, outermost: u64, own: u64, total: u64, parts: &mut Vec<Part>) {
    let Sums { all, .. } = pair.sums;
    let unrepeated = pair.sums.outermost.max(outermost);
    let counts = [
        outermost,
        unrepeated - outermost,
        all.saturating_sub(unrepeated),
    ];
    let owns = match all {
        0 => vec![own, 0, 0],
        _ => in_proportion(own, &counts),
    };
    let totals = [total, pair.sums.total.saturating_sub(total), owns[2]];
    for (at, ((calls, own), total)) in counts.into_iter().zip(owns).zip(totals).enumerate() {
        let is_first_of_none = at == 0 && all == 0;
        if calls > 0 || own > 0 || total > 0 || is_first_of_none {
            parts.push(Part {
                caller: Some(pair.caller),
                calls,
                own,
                total,
                is_recursive: at > 0,
                is_repeated: at > 1,
            });
        }
    }
}

/// By caller, the number of outermost calls and their time, and the time that is left for calls
/// without a caller.
fn outermost(
    function: Sums,
    pairs: &[ByCaller],
    without_caller: u64,
    their_own: u64,
) -> (Vec<u64>, Vec<u64>, u64) {
    if function.all == function.outermost {
        let totals = pairs.iter().map(|pair| pair.sums.total).collect();
        let (totals, rest) = fit(function.total, totals);
        return (
            pairs.iter().map(|pair| pair.sums.all).collect(),
            totals,
            rest,
        );
    }
    let wanted = function.outermost.saturating_sub(without_caller);
    let room = |pair: &ByCaller| match pair.is_self {
        true => 0,
        false => pair.sums.outermost,
    };
    let (mut counts, left) = spread(wanted, &pairs.iter().map(room).collect::<Vec<u64>>());
    add_where_room(&mut counts, left, |at| pairs[at].sums.outermost);
    // Calls have the mean time of their caller's.
    let means = pairs.iter().zip(&counts).map(|(pair, &count)| {
        let of_total = u128::from(pair.sums.total) * u128::from(count);
        let mean = of_total
            .checked_div(u128::from(pair.sums.outermost))
            .unwrap_or(0);
        u64::try_from(mean).unwrap_or(u64::MAX)
    });
    let means: Vec<u64> = means.collect();
    let for_callers = match without_caller {
        0 => function.total,
        _ => function.total.saturating_sub(their_own),
    };
    let (mut totals, mut left) = spread(for_callers, &means);
    if without_caller == 0 {
        let room = |at: usize| u64::from(counts[at] > 0) * pairs[at].sums.total;
        left = add_where_room(&mut totals, left, room);
        return (counts, totals, left);
    }
    (
        counts,
        totals,
        left.saturating_add(function.total - for_callers),
    )
}

/// Parts that are no more than a sum together, and what they leave of it.
fn fit(sum: u64, mut parts: Vec<u64>) -> (Vec<u64>, u64) {
    let all = parts.iter().copied().fold(0, u64::saturating_add);
    let excess = all.saturating_sub(sum);
    match parts.iter_mut().max() {
        Some(largest) if *largest >= excess => *largest -= excess,
        _ => return spread(sum, &parts),
    }
    (parts, sum.saturating_sub(all))
}

/// An amount in proportion to the room for its parts, and what has no room.
fn spread(amount: u64, room: &[u64]) -> (Vec<u64>, u64) {
    let all = room.iter().copied().fold(0, u64::saturating_add);
    if amount >= all {
        return (room.to_vec(), amount - all);
    }
    let mut parts: Vec<u64> = room.iter().map(|&room| part(amount, room, all)).collect();
    let left = amount.saturating_sub(parts.iter().copied().fold(0, u64::saturating_add));
    add_where_room(&mut parts, left, |at| room[at]);
    (parts, 0)
}

/// Adds to parts in their order, and returns what has no room.
fn add_where_room(parts: &mut [u64], mut left: u64, room: impl Fn(usize) -> u64) -> u64 {
    for (at, part) in parts.iter_mut().enumerate() {
        let more = left.min(room(at).saturating_sub(*part));
        *part += more;
        left -= more;
    }
    left
}

/// An amount in proportion to numbers, to its last unit.
pub(super) fn in_proportion(amount: u64, numbers: &[u64]) -> Vec<u64> {
    let all = numbers.iter().copied().fold(0, u64::saturating_add);
    let mut parts: Vec<u64> = numbers
        .iter()
        .map(|&number| part(amount, number, all))
        .collect();
    let left = amount.saturating_sub(parts.iter().copied().fold(0, u64::saturating_add));
    if let Some((_, part)) = (numbers.iter().zip(&mut parts)).find(|(number, _)| **number > 0) {
        *part = part.saturating_add(left);
    }
    parts
}

fn part(amount: u64, number: u64, all: u64) -> u64 {
    let part = u128::from(amount) * u128::from(number);
    u64::try_from(part.checked_div(u128::from(all)).unwrap_or(0)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(all: u64, outermost: u64, own: u64, total: u64) -> Sums {
        Sums {
            all,
            outermost,
            own,
            total,
        }
    }

    /// The sums of the parts, as a table of calls adds them: of the function, and by caller.
    fn added(function: Sums, pairs: &[ByCaller]) -> (Sums, Vec<Sums>) {
        let mut parts = Vec::new();
        divide(function, pairs.to_vec(), &mut parts);
        let (mut whole, mut by_caller) = (Sums::default(), vec![Sums::default(); pairs.len()]);
        let add = |sums: &mut Sums, part: &Part, is_outermost: bool| {
            sums.all += part.calls;
            sums.own += part.own;
            if is_outermost {
                sums.outermost += part.calls;
                sums.total += part.total;
            }
        };
        for part in &parts {
            add(&mut whole, part, !part.is_recursive);
            if let Some(caller) = part.caller {
                add(&mut by_caller[caller as usize], part, !part.is_repeated);
            }
        }
        (whole, by_caller)
    }

    #[test]
    fn the_parts_add_up_to_the_file_again() {
        let pair = |caller, is_self, sums| ByCaller {
            caller,
            sums,
            is_self,
        };
        // fib, called by main and by itself.
        let function = sums(177, 1, 900, 1000);
        let pairs = [
            pair(0, false, sums(1, 1, 10, 1000)),
            pair(1, true, sums(176, 2, 890, 980)),
        ];
        let (whole, by_caller) = added(function, &pairs);
        assert_eq!(whole, function);
        assert_eq!(by_caller, [pairs[0].sums, pairs[1].sums]);

        // Two functions that call each other, one of them from outside as well.
        let function = sums(50, 5, 500, 800);
        let pairs = [
            pair(0, false, sums(4, 4, 40, 700)),
            pair(1, false, sums(45, 9, 450, 780)),
        ];
        let (whole, by_caller) = added(function, &pairs);
        assert_eq!(whole, function);
        assert_eq!(by_caller, [pairs[0].sums, pairs[1].sums]);

        // No caller is known of some calls.
        let function = sums(10, 10, 100, 200);
        let pairs = [pair(0, false, sums(4, 4, 40, 50))];
        let (whole, by_caller) = added(function, &pairs);
        assert_eq!((whole, by_caller), (function, vec![pairs[0].sums]));
    }

    #[test]
    fn numbers_that_do_not_fit_are_no_reason_to_panic() {
        let most = sums(u64::MAX, u64::MAX, u64::MAX, u64::MAX);
        for function in [most, Sums::default(), sums(1, 5, 3, 2)] {
            for of_pair in [most, Sums::default(), sums(9, 2, 3, 2)] {
                let pairs = [true, false].map(|is_self| ByCaller {
                    caller: 0,
                    sums: of_pair,
                    is_self,
                });
                divide(function, pairs.to_vec(), &mut Vec::new());
                share(function, &mut pairs.to_vec());
            }
        }
    }
}
