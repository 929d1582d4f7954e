//! Whether intervals hold the truth at their rate, and are no wider than needed.
//!
//! A program's time is drawn, a sampler draws moments in it, and 1000 stretches are cut out of a
//! long recording. Each stretch's interval is compared with the truth in that very stretch. The
//! sampler draws a period between a half and one and a half of a millisecond, and keeps it for 50
//! samples.

use profundo_model::{Nanos, Profile, Sample, State, Thread};

use super::{location, stack};
use crate::*;

/// A simple random generator.
struct Draw(u64);

impl Draw {
    /// Between 0 and 1.
    fn part(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11;
        bits as f64 / (1_u64 << 53) as f64
    }

    /// About this length, 20 % more or less.
    fn about(&mut self, length: f64) -> f64 {
        length * (0.8 + 0.4 * self.part())
    }
}

/// The activity of one thread, in milliseconds: the end of each phase, and whether the function ran
/// in it.
struct Program {
    phases: Vec<(f64, bool)>,
}

impl Program {
    /// Phases of the function and of others, in turn; `lengths` gives those of both at a time.
    fn new(until: f64, mut lengths: impl FnMut(f64) -> (f64, f64)) -> Self {
        let (mut time, mut phases) = (0.0, Vec::new());
        while time < until {
            let (others, function) = lengths(time);
            phases.push((time + others, false));
            time += others + function;
            phases.push((time, true));
        }
        Self { phases }
    }
}

/// Walks along a program.
struct Walk<'a> {
    phases: &'a [(f64, bool)],
    at: usize,
    began: f64,
    before: f64,
}

impl<'a> Walk<'a> {
    fn new(program: &'a Program) -> Self {
        let phases = &program.phases[..];
        let (at, began, before) = (0, 0.0, 0.0);
        Self {
            phases,
            at,
            began,
            before,
        }
    }

    /// Whether the function runs at a time, and for how long it ran until then.
    fn at(&mut self, time: f64) -> (bool, f64) {
        while self.phases[self.at].0 <= time {
            let (end, is_function) = self.phases[self.at];
            if is_function {
                self.before += end - self.began;
            }
            (self.began, self.at) = (end, self.at + 1);
        }
        let is_function = self.phases[self.at].1;
        let more = if is_function { time - self.began } else { 0.0 };
        (is_function, self.before + more)
    }
}

/// The rate of correct intervals, in percent, and their width in parts of the real error.
#[derive(Debug)]
struct Found {
    held: f64,
    width: f64,
}

impl Found {
    fn of(estimates: &[(Estimate, f64)]) -> Self {
        let count = estimates.len() as f64;
        let holds = |&&(estimate, truth): &&(Estimate, f64)| {
            let interval = estimate.interval;
            interval.low <= truth + 1e-9 && truth <= interval.high + 1e-9
        };
        let held = estimates.iter().filter(holds).count() as f64;
        let errors = estimates
            .iter()
            .map(|(estimate, truth)| estimate.share - truth);
        let off: f64 = errors.map(|error| error.powi(2)).sum();
        let margins = estimates.iter().map(|(estimate, _)| estimate.margin());
        let width: f64 = margins.sum();
        Self {
            held: held / count * 100.0,
            width: width / count / 1.959_964 / (off / count).sqrt(),
        }
    }

    #[expect(clippy::print_stdout, reason = "--nocapture shows the figures")]
    fn print(&self, name: &str) {
        println!("{name:<28} {:5.1} % {:5.2}", self.held, self.width);
    }

    fn holds(&self, name: &str) {
        self.print(name);
        assert!((93.0..=97.0).contains(&self.held), "{name}: {self:?}");
        assert!(self.width <= 1.3, "{name}: {self:?}");
    }
}

const STRETCHES: usize = 1000;

/// Cuts stretches of `length` milliseconds out of a recording of these programs, one a thread. If
/// `system` has the number of periods of a kernel sample, the function is the kernel's.
fn cut(programs: &[Program], length: f64, system: Option<f64>) -> Vec<(Estimate, f64)> {
    let mut profile = Profile::from_folded("").unwrap();
    profile.samples.clear();
    profile.meta.period = Nanos(1_000_000);
    let main = location(&mut profile, 1, "main", 1);
    let function = location(&mut profile, 2, "function", 2);
    let stacks = [
        stack(&mut profile, &[main]),
        stack(&mut profile, &[main, function]),
    ];
    let task = profile.tasks.find_number(1).unwrap();
    let threads: Vec<_> = (programs.iter().enumerate())
        .map(|(index, _)| {
            profile.threads.push(Thread {
                number: 10 + index as u64,
                ..Thread::default()
            })
        })
        .collect();
    let mut draw = Draw(0x1234_5678);
    let mut clocks: Vec<Clock> = (programs.iter())
        .map(|_| Clock::new(&mut draw, system))
        .collect();
    let mut walks: Vec<Walk> = programs.iter().map(Walk::new).collect();
    let mut truths: Vec<Walk> = programs.iter().map(Walk::new).collect();
    let mut before = 0.0;
    let mut estimates = Vec::new();
    for number in 1..=STRETCHES {
        let end = length * number as f64;
        profile.samples.clear();
        for ((clock, walk), &thread) in clocks.iter_mut().zip(&mut walks).zip(&threads) {
            while clock.time < end {
                let (is_function, _) = walk.at(clock.time);
                if let Some(weight) = clock.weight(is_function, &mut draw) {
                    profile.samples.push(Sample {
                        time: Nanos((clock.time * 1e6) as u64),
                        weight: Nanos((weight * 1e6) as u64),
                        thread,
                        task,
                        stack: stacks[usize::from(is_function)],
                        state: State::Running,
                        ..Sample::default()
                    });
                }
                clock.tick(&mut draw);
            }
        }
        profile.samples.sort_by_key(|sample| sample.time);
        let until: f64 = truths.iter_mut().map(|walk| walk.at(end).1).sum();
        let truth = (until - before) / (length * programs.len() as f64);
        before = until;
        let selection = Selection::new(&profile, &Filter::default());
        let rows = shares(&profile, &selection, false);
        let row = (rows.iter()).find(|row| profile.function_name(frame(row.place)) == "function");
        let none = || Estimate::of(Mass::default(), selection.mass(&profile));
        estimates.push((row.map_or_else(none, |row| row.own), truth));
    }
    estimates
}

fn frame(place: Place) -> profundo_model::FrameId {
    match place {
        Place::Frame(frame) => frame,
        _ => unreachable!(),
    }
}

/// The times of samples.
struct Clock {
    time: f64,
    period: f64,
    left: u32,
    /// In the kernel one of so many ticks is a sample.
    system: Option<f64>,
}

impl Clock {
    fn new(draw: &mut Draw, system: Option<f64>) -> Self {
        let mut clock = Self {
            time: 0.0,
            period: 0.0,
            left: 0,
            system,
        };
        clock.tick(draw);
        clock
    }

    fn tick(&mut self, draw: &mut Draw) {
        if self.left == 0 {
            (self.left, self.period) = (50, 0.5 + draw.part());
        }
        self.left -= 1;
        self.time += self.period;
    }

    /// The weight of a sample, if there is one. In the kernel, the start of a clock's periods is
    /// random.
    fn weight(&self, is_function: bool, draw: &mut Draw) -> Option<f64> {
        match self.system.filter(|_| is_function) {
            Some(each) => (draw.part() * each < 1.0).then_some(self.period * each),
            None => Some(self.period),
        }
    }
}

/// Phases of about this length, the function's a little shorter than the others'.
fn phases(each: f64, length: f64, threads: u64) -> Vec<Program> {
    let until = length * STRETCHES as f64 + 2.0;
    let program = |thread| {
        let mut draw = Draw(99 + thread);
        Program::new(until, |_| (draw.about(each), draw.about(each * 0.8)))
    };
    (0..threads).map(program).collect()
}

#[test]
fn phases_that_are_shorter_than_a_period() {
    for (name, each) in [("50 µs", 0.05), ("300 µs", 0.3)] {
        let programs = phases(each, 400.0, 1);
        Found::of(&cut(&programs, 400.0, None)).holds(name);
    }
}

#[test]
fn phases_about_as_long_as_a_period() {
    let programs = phases(1.2, 800.0, 1);
    Found::of(&cut(&programs, 800.0, None)).holds("1.2 ms");
}

#[test]
fn phases_of_some_samples() {
    let programs = phases(5.0, 600.0, 1);
    Found::of(&cut(&programs, 600.0, None)).holds("5 ms");
}

#[test]
fn phases_of_many_samples() {
    let programs = phases(100.0, 1500.0, 1);
    Found::of(&cut(&programs, 1500.0, None)).holds("100 ms");
}

#[test]
fn a_share_that_drifts() {
    let mut draw = Draw(5);
    let lengths = |time: f64| {
        let part = 0.5 + 0.35 * (time / 4000.0).sin();
        (draw.about(0.2 * (1.0 - part)), draw.about(0.2 * part))
    };
    let programs = [Program::new(400.0 * STRETCHES as f64 + 2.0, lengths)];
    Found::of(&cut(&programs, 400.0, None)).holds("drifting");
}

#[test]
fn a_single_burst() {
    let mut draw = Draw(6);
    // One in each stretch, somewhere.
    let mut rest = 0.0;
    let lengths = |_: f64| {
        let (before, burst) = (rest + 340.0 * draw.part(), draw.about(40.0));
        rest += 400.0 - before - burst;
        (before, burst)
    };
    let programs = [Program::new(400.0 * STRETCHES as f64 + 2.0, lengths)];
    Found::of(&cut(&programs, 400.0, None)).holds("a single burst");
}

#[test]
fn few_samples() {
    let programs = phases(0.3, 45.0, 1);
    Found::of(&cut(&programs, 45.0, None)).holds("few samples");
}

#[test]
fn four_threads() {
    for (name, each) in [("four threads, 300 µs", 0.3), ("four threads, 5 ms", 5.0)] {
        let programs = phases(each, 200.0, 4);
        Found::of(&cut(&programs, 200.0, None)).holds(name);
    }
}

#[test]
fn weights_of_system_time() {
    let programs = phases(0.3, 400.0, 1);
    Found::of(&cut(&programs, 400.0, Some(2.0))).holds("system time");
}

#[test]
fn what_falls_short_is_known() {
    // A loop that never varies, and stays with a period for 50 samples.
    let exact = [Program::new(1002.0 * STRETCHES as f64, |_| (0.6, 0.6))];
    let found = Found::of(&cut(&exact, 1000.0, None));
    found.print("a loop of exactly 1.2 ms");
    assert!(found.held >= 89.0, "{found:?}");
    // Phases that end at any time, however long they have lasted.
    let mut draw = Draw(7);
    let mut lasts = || -2.5 * (1.0 - draw.part()).ln();
    let any = Program::new(502.0 * STRETCHES as f64, |_| (lasts(), lasts()));
    let found = Found::of(&cut(&[any], 500.0, None));
    found.print("phases of any length, 2.5 ms");
    assert!(found.held >= 95.0 && found.width <= 3.3, "{found:?}");
}

#[test]
fn samples_without_an_order_are_a_lottery() {
    let mut profile = super::mixed();
    profile.samples = profile.samples.repeat(20);
    let own = |profile: &Profile| shares(profile, &super::all(profile), false)[0].own;
    // All at once, as in folded text.
    for sample in &mut profile.samples {
        sample.time = Nanos(0);
    }
    let rows = shares(&profile, &super::all(&profile), false);
    let whole = super::all(&profile).mass(&profile);
    assert_eq!(own(&profile), rows[0].own_amount.share(whole));
    // Each the sum of many, as in a recording that has become coarse.
    for (index, sample) in profile.samples.iter_mut().enumerate() {
        sample.time = Nanos(index as u64);
        sample.state = State::Running;
        sample.weight = Nanos(50 * profile.meta.period.0);
    }
    let rows = shares(&profile, &super::all(&profile), false);
    let whole = super::all(&profile).mass(&profile);
    assert_eq!(own(&profile), rows[0].own_amount.share(whole));
}

#[test]
fn stretches_of_a_long_recording_give_the_same() {
    // A loop of four functions in turn, a rare one, and more samples than are read.
    let mut profile = Profile::from_folded("").unwrap();
    let names = ["one", "two", "three", "rare"];
    let stacks: Vec<_> = (names.iter().zip(1..))
        .map(|(name, number)| {
            let place = location(&mut profile, number, name, 1);
            stack(&mut profile, &[place])
        })
        .collect();
    let mut draw = Draw(8);
    let mut take = |profile: &mut Profile, count: u64| {
        profile.samples.clear();
        for index in 0..count {
            let at = match index == count / 2 + 20_000 {
                true => 3,
                false => (draw.part() * 3.0) as usize,
            };
            super::push(profile, stacks[at], 1, State::Running);
        }
        let rows = shares(profile, &super::all(profile), false);
        let margin = |name: &str| {
            let mut rows = rows.iter();
            let row = rows.find(|row| profile.function_name(frame(row.place)) == name);
            row.unwrap().own.margin() * (count as f64).sqrt()
        };
        (margin("one"), margin("rare"))
    };
    let (short, long) = (take(&mut profile, 100_000), take(&mut profile, 1_300_000));
    assert!((long.0 / short.0 - 1.0).abs() < 0.1, "{short:?} {long:?}");
    let lottery = Estimate::new(1.0 / 1.3e6, 1.3e6).margin() * 1.3e6_f64.sqrt();
    assert!((long.1 / lottery - 1.0).abs() < 1e-6, "{long:?} {lottery}");
}

#[test]
fn one_heavy_sample_is_one_wherever_it_is() {
    let mut profile = Profile::from_folded("").unwrap();
    let stacks: Vec<_> = [(1, "light"), (2, "heavy")]
        .map(|(number, name)| location(&mut profile, number, name, 1))
        .map(|place| stack(&mut profile, &[place]))
        .to_vec();
    for heavy in [0, 3, 500, 998, 999] {
        profile.samples.clear();
        for index in 0..1000 {
            let (stack, weight) = if index == heavy { (1, 60) } else { (0, 1) };
            super::push(&mut profile, stacks[stack], weight, State::System);
        }
        let rows = shares(&profile, &super::all(&profile), false);
        let of = |row: &&FunctionShare| profile.function_name(frame(row.place)) == "heavy";
        let row = rows.iter().find(of).unwrap();
        let lottery = row.own_amount.share(super::all(&profile).mass(&profile));
        let ratio = row.own.margin() / lottery.margin();
        assert!((0.9..1.3).contains(&ratio), "{heavy}: {ratio} {row:?}");
    }
}
