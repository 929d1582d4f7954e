//! The recording: it begins, is divided into pieces, and ends.

use std::io::IsTerminal;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Result, bail};
use profundo_console::stderr;
use profundo_launch::{
    Ended, Program, SIGNAL_INTERVAL, Signals, Unstarted, fork_recorded, handle_signals_and_end,
    process_program, reap,
};
use profundo_linux::machine::host;
use profundo_push::{Destination, Pusher};
use profundo_recorder::{EngineChoice, Options, Recorder, WALL_TICK};
use profundo_save::pieces::Pieces;
use profundo_store::{Identity, Writer};

use crate::keeper::{Keeper, Keeping, Kept};
use crate::labels::Labeling;
use crate::outlet::{Outlet, RemoteOutlet, StoreOutlet};
use crate::settings::{Settings, Target};
use crate::spool_folder;
use crate::upkeep::Upkeep;

/// With more samples a piece ends early.
const MOST_SAMPLES: usize = 4 << 20;

/// Watches until the program or the processes have ended, the time is over, or a signal asks for
/// the end. Returns how a program ended that was started.
pub fn watch(settings: &Settings) -> Result<Ended> {
    let program = match &settings.target {
        Target::Program { words, .. } => Some(Program::find(words)?),
        _ => None,
    };
    let said = identity(settings);
    let labeling = Labeling::new(said.clone());
    let labeling = match (&settings.target, &program) {
        (_, Some(program)) => labeling.with_fallback(program.name.clone()),
        (Target::Processes(first, _), None) => labeling.with_fallback(process_program(*first)),
        _ => labeling,
    };
    let mut recorder = Recorder::create(options(settings))?;
    let name = writer_name(&recorder);
    let general = Identity {
        host: match said.host.is_empty() {
            true => host(),
            false => said.host.clone(),
        },
        ..said
    };
    let signals = Signals::take()?;
    let child = match &program {
        Some(program) => Some(fork_recorded(program, &recorder, None, &signals, None)?),
        None => None,
    };
    // Threads begin after the fork.
    let keeper = Keeper::start(Keeping::new(outlet(settings, general, &name)?))?;
    let upkeep = match settings.keeps_up && !Destination::is_remote(&settings.to) {
        true => Some(Upkeep::start(
            profundo_store::open(&settings.to)?,
            settings.limits,
        )?),
        false => None,
    };
    let pieces = Pieces::new(recorder.start());
    let mut watching = Watching {
        pieces: match settings.target {
            Target::Machine { .. } => pieces.of_machine(),
            _ => pieces,
        },
        labeling,
        keeper,
        step: settings.step,
        every: settings.every,
        next: next_step(settings.step),
    };
    watching.begin(&mut recorder, settings, child.as_ref().map(|it| it.pid()))?;
    let wake = recorder.wake_handle();
    let wakes = signals.watch(move || wake.wake())?;
    let pid = child.as_ref().map(|child| child.pid());
    if let (Some(child), Some(program)) = (child, &program)
        && let Err(error) = child.release()
    {
        bail!(Unstarted::refused(&program.path, &error));
    }
    if pid.is_none() || std::io::stderr().is_terminal() {
        let what = what(settings, program.as_ref());
        stderr::note(&format!("watching {what}, into {}", settings.to));
    }
    let ended = watching.until_the_end(&mut recorder, &signals, pid, settings.duration)?;
    let Watching {
        mut pieces,
        mut labeling,
        keeper,
        ..
    } = watching;
    let finish = recorder.finish(&mut |mut event| {
        labeling.event(&mut event);
        pieces.event(event);
    });
    drop(wakes);
    if let Some(pid) = pid {
        reap(pid);
    }
    // Signals wait until the last piece is safe, and has been sent if that is possible.
    let kept = keeper.finish(pieces.finish(finish));
    signals.release();
    drop(upkeep);
    // A program that was started has the last word.
    if pid.is_none() || std::io::stderr().is_terminal() || kept.waiting > 0 {
        say(&kept, &settings.to);
    }
    Ok(ended)
}

/// The way to where the profiles go.
fn outlet(settings: &Settings, general: Identity, name: &str) -> Result<Box<dyn Outlet>> {
    if Destination::is_remote(&settings.to) {
        let destination = Destination::parse(&settings.to)?;
        let mut how = profundo_push::Settings::default();
        for header in &settings.headers {
            how = how.with_header(header)?;
        }
        if matches!(destination, Destination::Otlp(_)) {
            how = how.with_headers_of_environment()?;
        }
        let pusher = Pusher::new(destination, how)?;
        return Ok(Box::new(RemoteOutlet::new(pusher, general)));
    }
    let spools = spool_folder::open(&settings.to, settings.spool.as_deref(), settings.spool_size)?;
    let writer = Writer::new(general, name).with_step(settings.step);
    let store = profundo_store::open(&settings.to)?;
    Ok(Box::new(StoreOutlet::new(store, spools, writer)))
}

/// A recording that is divided.
struct Watching {
    pieces: Pieces,
    labeling: Labeling,
    keeper: Keeper,
    step: Duration,
    every: Duration,
    /// When the present step ends.
    next: Instant,
}

impl Watching {
    /// Begins to record.
    fn begin(
        &mut self,
        recorder: &mut Recorder,
        settings: &Settings,
        child: Option<i32>,
    ) -> Result<()> {
        let Self {
            pieces, labeling, ..
        } = self;
        let mut sink = |mut event: profundo_wire::recording::Event<'_>| {
            labeling.event(&mut event);
            pieces.event(event);
        };
        match (&settings.target, child) {
            (Target::Machine { .. }, _) => recorder.begin_machine()?,
            (Target::Processes(first, others), _) => {
                recorder.attach_all(*first, others, &mut sink)?;
            }
            (Target::Program { .. }, Some(pid)) => recorder.watch(pid as u32)?,
            (Target::Program { .. }, None) => {}
        }
        Ok(())
    }

    fn until_the_end(
        &mut self,
        recorder: &mut Recorder,
        signals: &Signals,
        pid: Option<i32>,
        duration: Option<Duration>,
    ) -> Result<Ended> {
        let began = Instant::now();
        loop {
            let left =
                duration.map_or(Duration::MAX, |whole| whole.saturating_sub(began.elapsed()));
            let step = self.next.saturating_duration_since(Instant::now());
            // A program may go on after the time that is recorded.
            let left_or_beside = match (pid, left.is_zero()) {
                (Some(_), true) => SIGNAL_INTERVAL,
                _ => left,
            };
            self.turn(recorder, SIGNAL_INTERVAL.min(left_or_beside).min(step));
            match pid {
                // A program that runs on is not left alone: it has the agent.
                Some(pid) => {
                    let handled = handle_signals_and_end(recorder, signals, pid)?;
                    if let Some(ended) = handled.ended {
                        return Ok(ended);
                    }
                    if left.is_zero() && !recorder.is_paused() {
                        recorder.set_paused(true);
                    }
                }
                None if signals.want_end() || left.is_zero() || !recorder.has_programs() => {
                    return Ok(Ended::Exited(0));
                }
                None => {}
            }
        }
    }

    fn turn(&mut self, recorder: &mut Recorder, most: Duration) {
        let Self {
            pieces,
            labeling,
            keeper,
            ..
        } = self;
        let mut sink = |mut event: profundo_wire::recording::Event<'_>| {
            labeling.event(&mut event);
            pieces.event(event);
        };
        recorder.turn_within(most, &mut sink);
        if Instant::now() < self.next {
            return;
        }
        // Waits that go on are divided, too.
        let so_far = recorder.mark(&mut sink);
        self.next = next_step(self.step);
        let is_over = pieces.age() + self.step / 2 >= self.every;
        if is_over || pieces.samples() > MOST_SAMPLES {
            keeper.take(pieces.divide(&so_far));
        }
    }
}

/// The options of the recorder.
fn options(settings: &Settings) -> Options {
    let general = Options {
        period: settings.period,
        // A program whose stacks are rarely sampled need not be asked often for its system time.
        system_period: settings.period.saturating_mul(2).max(2_000_000),
        wall: settings.waits.then_some(WALL_TICK),
        // Segments do not have it.
        traffic: false,
        memory: settings.memory,
        ..Options::default()
    };
    match &settings.target {
        Target::Machine { chosen, most_held } => Options {
            engine: EngineChoice::PerfRing,
            machine: Some(chosen.clone()),
            most_held: most_held.unwrap_or(u64::MAX),
            wall: None,
            ..general
        },
        Target::Processes(..) => Options {
            engine: EngineChoice::Around,
            ..general
        },
        Target::Program { agent, .. } => Options {
            agent: Some(agent.clone()),
            ..general
        },
    }
}

/// What the user has said of all processes.
fn identity(settings: &Settings) -> Identity {
    let mut identity = Identity {
        service: settings.service.clone().unwrap_or_default(),
        ..Identity::default()
    };
    for (key, value) in &settings.labels {
        let value = value.clone();
        match key.as_str() {
            "service" => identity.service = value,
            "version" => identity.version = value,
            "host" => identity.host = value,
            "container" => identity.container = value,
            "pod" => identity.pod = value,
            _ => identity.labels.push((key.clone(), value)),
        }
    }
    identity
}

/// A name that no other watcher has: of the machine, of its start, of the process and of its own.
fn writer_name(recorder: &Recorder) -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let unix = recorder.start().started.unix;
    format!("{} {} {} {unix}", host(), boot.trim(), std::process::id())
}

/// The end of the present step: steps begin at whole multiples of their length.
fn next_step(step: Duration) -> Instant {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let step = step.as_nanos().max(1);
    let passed = now.unwrap_or_default().as_nanos() % step;
    let left = u64::try_from(step - passed).unwrap_or(u64::MAX);
    Instant::now() + Duration::from_nanos(left)
}

/// What is watched, in words.
fn what(settings: &Settings, program: Option<&Program>) -> String {
    match (&settings.target, program) {
        (_, Some(program)) => program.name.clone(),
        (Target::Machine { chosen, .. }, _) if chosen.is_all() => {
            "all processes of the machine".into()
        }
        (Target::Machine { .. }, _) => "the chosen processes of the machine".into(),
        (Target::Processes(first, others), _) if others.is_empty() => format!("process {first}"),
        (Target::Processes(first, others), _) => {
            let others: Vec<String> = others.iter().map(u32::to_string).collect();
            format!("processes {first}, {}", others.join(", "))
        }
        (Target::Program { .. }, None) => String::new(),
    }
}

/// The last sentences.
fn say(kept: &Kept, to: &str) {
    let Kept {
        samples,
        segments,
        waiting,
        is_durable,
        dropped,
    } = *kept;
    stderr::note(&match segments {
        0 => format!("{samples} samples, of which {to} has none"),
        _ if !is_durable => format!("{samples} samples; {to} has taken {segments} profiles"),
        _ => format!(
            "{samples} samples; {to} has got {segments} segments; `profundo list {to}` shows what is there"
        ),
    });
    if waiting > 0 && !is_durable {
        stderr::note(&format!("{waiting} profiles were not taken, and are lost"));
    } else if waiting > 0 {
        stderr::note(&format!(
            "{waiting} segments wait on this machine; the next `profundo watch --to {to}` sends them"
        ));
    }
    if dropped > 0 {
        stderr::note(&format!(
            "{dropped} samples were dropped, because there was no room for them"
        ));
    }
}
