//! Profiles without an end, written into a store segment by segment.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use profundo_model::{LocationKind, Profile, Reason};
use profundo_store::{Folder, Query, answer};
use profundo_testing::{Folder as Temporary, profundo, pythons, skip};

use crate::program::alone;

/// Python with one hot function, for some seconds; then it prints its CPU time.
const HOT: &str = "\
import sys, time
def hot_in_python(count):
    return sum(number * number % 7 for number in range(count))
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end: hot_in_python(20000)
print(time.process_time())
";

/// A process that is ended with its test.
struct Beside(Child);

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A store and a folder for segments on their way.
struct Place {
    folder: Temporary,
}

impl Place {
    fn new(name: &str) -> Self {
        Self {
            folder: Temporary::new(name),
        }
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    /// The command that watches into it.
    fn watch(&self, options: &[&str]) -> Command {
        let mut command = Command::new(profundo());
        command.args(["watch", "--to"]).arg(self.store());
        command.arg("--spool").arg(self.folder.path().join("spool"));
        command.args(options).stdin(Stdio::null());
        command
    }

    /// The answer to a query of what was written in the last hour.
    fn ask(&self, query: &str) -> Profile {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = i64::try_from(since.unwrap().as_millis()).unwrap();
        let text = format!("{}?from=-1h&{query}", self.store().display());
        let query = Query::parse(&text, now).unwrap();
        answer(&Folder::new(self.store()), &query, 1).unwrap()
    }
}

/// The sum of the samples' weights in seconds, by the function that has a word in its name.
fn seconds(profile: &Profile, word: &str) -> f64 {
    let has_it = |location| {
        let frames = &profile.locations.get(location).frames;
        (frames.iter()).any(|&frame| profile.function_name(frame).contains(word))
    };
    let samples = profile.samples.iter();
    let its = samples.filter(|sample| profile.stacks.locations(sample.stack).any(has_it));
    its.map(|sample| sample.weight.0 as f64 / 1e9).sum()
}

fn all_seconds(profile: &Profile) -> f64 {
    let samples = profile.samples.iter();
    samples.map(|sample| sample.weight.0 as f64 / 1e9).sum()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The files of samples below a store, by their names.
fn segments(store: &Path) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    let mut folders = vec![store.join("fresh/samples")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(entry.path()),
                false => {
                    let name = entry.file_name().to_str().unwrap().to_owned();
                    *found.entry(name).or_default() += 1;
                }
            }
        }
    }
    found
}

#[test]
fn a_program_is_watched_with_its_labels() {
    let Some(python) = pythons().last() else {
        return skip("there is no CPython");
    };
    let _alone = alone();
    let place = Place::new("watch-program");
    let options = [
        "--every",
        "2s",
        "--service",
        "api",
        "--label",
        "version=1.4",
    ];
    let mut command = place.watch(&options);
    command.args(["--label", "zone=a", "--"]).arg(&python.path);
    let output = command.args(["-c", HOT, "5"]).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let used: f64 = String::from_utf8_lossy(&output.stdout)
        .trim()
        .parse()
        .unwrap();

    let profile = place.ask("service=api&version=1.4&label.zone=a");
    let (all, hot) = (all_seconds(&profile), seconds(&profile, "hot_in_python"));
    assert!((all - used).abs() < 0.1 * used + 0.05, "{all} of {used}");
    assert!(hot > 0.8 * all, "{hot} of {all}");
    assert!(segments(&place.store()).len() >= 2);
    // Elapsed time has CPU time in it, and the waits of a busy machine.
    let elapsed = all_seconds(&place.ask("service=api&type=wall"));
    assert!(elapsed >= all && elapsed < all + 6.0, "{elapsed} {all}");
    assert!(place.ask("service=web").samples.is_empty());
    assert!(place.ask("version=1.5").samples.is_empty());
}

/// The sum of what the shell's `times` prints: `0m0.012s 0m0.003s`, twice.
fn sum_of_times(printed: &str) -> f64 {
    let words = printed.split_whitespace();
    let seconds = words.map(|word| -> f64 {
        let (minutes, seconds) = word.trim_end_matches('s').split_once('m').unwrap();
        60.0 * minutes.parse::<f64>().unwrap() + seconds.parse::<f64>().unwrap()
    });
    seconds.sum()
}

#[test]
fn programs_that_are_too_short_for_a_sample_have_their_time() {
    const SCRIPT: &str = "i=0; while [ $i -lt 200 ]; do seq 300 | sort -r | tail -1 >&2; \
                          i=$((i+1)); done; times";
    let _alone = alone();
    let place = Place::new("watch-short");
    let mut command = place.watch(&["--", "bash", "-c", SCRIPT]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let used = sum_of_times(&String::from_utf8_lossy(&output.stdout));
    let profile = place.ask("type=cpu");
    let all = all_seconds(&profile);
    assert!(all > 0.7 * used && all < 1.2 * used, "{all} of {used}");
    let is_short = LocationKind::Reason(Reason::TooShort);
    let mut locations = profile.locations.iter().map(|(_, location)| location);
    assert!(locations.any(|location| location.kind == is_short));
}

#[test]
fn the_exit_code_is_the_programs() {
    let place = Place::new("watch-exit");
    let mut command = place.watch(&["--", "sh", "-c", "exit 7"]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(7), "{}", said(&output));
    let missing = place.watch(&["--", "/no/such/program"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(127), "{}", said(&missing));
}

#[test]
fn a_killed_watcher_leaves_whole_segments_and_the_next_one_goes_on() {
    let Some(python) = pythons().last() else {
        return skip("there is no CPython");
    };
    let _alone = alone();
    let place = Place::new("watch-killed");
    let mut script = Command::new(&python.path);
    let script = script.args(["-c", HOT, "100"]).stdout(Stdio::null());
    let script = Beside(script.spawn().unwrap());
    let pid = script.0.id().to_string();
    let began = Instant::now();
    for _ in 0..3 {
        let mut command = place.watch(&["--every", "1s", "--service", "api", &pid]);
        let mut watcher = Beside(command.stderr(Stdio::null()).spawn().unwrap());
        sleep(Duration::from_millis(3400));
        assert!(watcher.0.try_wait().unwrap().is_none());
        // SIGKILL, by the end of the block.
    }
    let output = place.watch(&["--every", "1s", "-d", "2", "--service", "api", &pid]);
    let output = { output }.output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let all = all_seconds(&place.ask("service=api"));
    let elapsed = began.elapsed().as_secs_f64();
    // Each watcher has written more than one second, and nothing is there twice.
    assert!(all > 4.0 && all < elapsed, "{all} of {elapsed}");
    assert!(segments(&place.store()).values().all(|&times| times == 1));
}

#[test]
fn segments_wait_for_a_store_that_is_away() {
    let Some(python) = pythons().last() else {
        return skip("there is no CPython");
    };
    let place = Place::new("watch-away");
    // No folder can be made below a file.
    fs::write(place.store(), "").unwrap();
    let watch = |seconds: &str| {
        let mut command = place.watch(&["--every", "1s", "--service", "api", "--"]);
        let command = command.arg(&python.path).args(["-c", HOT, seconds]);
        command.output().unwrap()
    };
    let output = watch("2.5");
    assert!(output.status.success(), "{}", said(&output));
    let used: f64 = String::from_utf8_lossy(&output.stdout)
        .trim()
        .parse()
        .unwrap();
    assert!(
        said(&output).contains("wait on this machine; the next"),
        "{}",
        said(&output)
    );
    fs::remove_file(place.store()).unwrap();
    assert!(watch("0.2").status.success());
    let all = all_seconds(&place.ask("service=api"));
    assert!(all > 0.8 * used, "{all} of {used}");
    let next = watch("0.2");
    assert!(
        !said(&next).contains("wait on this machine"),
        "{}",
        said(&next)
    );
}

#[test]
fn processes_of_the_machine_have_their_own_services() {
    let Some(python) = pythons().last() else {
        return skip("there is no CPython");
    };
    let _alone = alone();
    let place = Place::new("watch-machine");
    let start = |service: &str, version: &str| {
        let mut script = Command::new(&python.path);
        script.args(["-c", HOT, "60"]).stdout(Stdio::null());
        script.env("OTEL_SERVICE_NAME", service);
        script.env(
            "OTEL_RESOURCE_ATTRIBUTES",
            format!("service.version={version}"),
        );
        Beside(script.spawn().unwrap())
    };
    let _scripts = [start("watched-api", "1.4"), start("watched-web", "2.0")];
    let output = place.watch(&["-a", "--every", "2s", "-d", "5"]);
    let output = { output }.output().unwrap();
    if said(&output).contains("all processes of the machine cannot be sampled") {
        return skip("all processes of the machine cannot be sampled here");
    }
    assert!(output.status.success(), "{}", said(&output));
    for (service, version) in [("watched-api", "1.4"), ("watched-web", "2.0")] {
        let profile = place.ask(&format!("service={service}&version={version}"));
        let (all, hot) = (all_seconds(&profile), seconds(&profile, "hot_in_python"));
        assert!(all > 0.5 && hot > 0.8 * all, "{service}: {hot} of {all}");
    }
}

#[test]
fn wrong_usage_is_refused_in_a_sentence() {
    let place = Place::new("watch-usage");
    for (options, word) in [
        (&["--", "true"][..], "--to"),
        (&["--to", "a?service=b", "--", "true"], "begins a query"),
        (
            &["--to", "a", "--every", "0.1", "--", "true"],
            "between 1 second",
        ),
        (&["--to", "a", "python"], "no process id"),
        (&["--to", "a"], "required"),
        (&["--to", "a", "--memory", "1"], "cannot be used with"),
    ] {
        let mut command = Command::new(profundo());
        command.arg("watch").args(options).stdin(Stdio::null());
        let output = command.current_dir(place.folder.path()).output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(2),
            "{options:?}: {}",
            said(&output)
        );
        assert!(
            said(&output).contains(word),
            "{options:?}: {}",
            said(&output)
        );
    }
    assert!(fs::read_dir(place.folder.path()).unwrap().next().is_none());
}
