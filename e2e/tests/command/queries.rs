//! Queries of a store of a fleet: a made-up fleet of three services, asked through the command.

mod bucket;
#[path = "../../../crates/profundo-store/examples/shop/made.rs"]
mod made;

use std::collections::BTreeMap;
use std::process::{Command, Output};

use profundo_store::Folder as Store;
use profundo_testing::{Folder, profundo};
use serde_json::Value;

use made::{HOUR, PERIOD, shop};

/// 2026-11-28 10:00 in UTC.
const TEN: i64 = 1_795_860_000_000;
const TIME: &str = "from=2026-11-28T08:00Z&to=2026-11-28T10:00Z";

/// A store with the fleet, and the command's answers from it.
struct Fleet(Folder);

impl Fleet {
    fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        shop(&Store::new(folder.join("store")), TEN).unwrap();
        Self(folder)
    }

    /// A query with this behind the time.
    fn query(&self, rest: &str) -> String {
        format!("{}?{TIME}{rest}", self.0.join("store").display())
    }

    fn run(&self, words: &[&str]) -> Output {
        let mut command = Command::new(profundo());
        command.args(words).current_dir(self.0.path());
        command.env("TZ", "UTC").env("PROFUNDO_NO_CONFIG", "1");
        command.output().unwrap()
    }

    /// What a command prints that succeeds.
    #[track_caller]
    fn text(&self, words: &[&str]) -> String {
        let output = self.run(words);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{words:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    #[track_caller]
    fn json(&self, words: &[&str]) -> Value {
        serde_json::from_str(&self.text(words)).unwrap()
    }

    /// The sentence of a command that fails with this code.
    #[track_caller]
    fn refusal(&self, words: &[&str], code: i32) -> String {
        let output = self.run(words);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
        said
    }
}

/// The share of each function by itself.
fn shares(report: &Value) -> BTreeMap<String, f64> {
    let rows = report["functions"].as_array().unwrap().iter();
    rows.map(|row| {
        let name = row["function"].as_str().unwrap().to_owned();
        (name, row["self_share"].as_f64().unwrap())
    })
    .collect()
}

#[test]
fn a_query_stands_where_a_recording_does() {
    let fleet = Fleet::new("query-report");
    let query = fleet.query("&service=api");
    let report = fleet.text(&["report", &query]);
    let mut lines = report.lines();
    assert_eq!(lines.next(), Some("api 1.4, 1.5"));
    let place = fleet.0.join("store");
    let asked = format!("from 2026-11-28 08:00 to 10:00 · {}", place.display());
    assert_eq!(lines.next(), Some(asked.as_str()));
    let figures = lines.next().unwrap();
    for part in ["CPUs)", "4 hosts", "16 processes", "32 threads", "samples"] {
        assert!(figures.contains(part), "{figures}");
    }
    let functions = fleet.json(&["report", &query, "functions", "--json", "--limit", "100"]);
    let shares = shares(&functions);
    // The made-up shares, with the jitter of processes around them.
    for (name, wanted) in [("rank", 0.216), ("to_json", 0.155), ("write_log", 0.0485)] {
        let found = shares[name];
        assert!((found / wanted - 1.0).abs() < 0.05, "{name}: {found}");
    }
    let summary = fleet.json(&["report", &query, "--json"]);
    let asked = &summary["recording"]["query"];
    assert_eq!(asked["text"], query);
    assert_eq!(asked["title"], "api 1.4, 1.5");
    assert_eq!(asked["counted"][0], "4 hosts");
    assert_eq!(summary["recording"]["command"], Value::Null);
    let cpus = summary["selection"]["cpus"].as_f64().unwrap();
    assert!(
        figures.contains(&format!("({cpus:.1} CPUs)")),
        "{figures}, {cpus}"
    );
    // Each process has the labels of its own.
    let processes = summary["processes"].as_array().unwrap();
    let mut hosts: Vec<&str> = (processes.iter())
        .flat_map(|process| process["labels"].as_array().unwrap())
        .filter(|label| label["key"] == "host")
        .map(|label| label["value"].as_str().unwrap())
        .collect();
    assert_eq!(hosts.len(), processes.len());
    hosts.sort_unstable();
    hosts.dedup();
    assert_eq!(hosts, ["h1", "h2", "h3", "h4"]);
    let tree = fleet.text(&["report", &query, "tree"]);
    assert!(tree.contains("to_json"), "{tree}");
    let lines = fleet.text(&["report", &query, "lines"]);
    assert!(lines.contains("a store has no source text"), "{lines}");
    let callers = fleet.text(&["report", &query, "callers", "to_json"]);
    assert!(callers.contains("orders"), "{callers}");
    let all = fleet.text(&["report", &fleet.query("&by=service")]);
    assert!(all.starts_with("3 services: api, auth, worker\n"), "{all}");
}

/// The store's sums are those of the profiles that it was made of.
#[test]
fn nothing_is_lost_or_counted_twice() {
    let fleet = Fleet::new("query-sums");
    let mut wanted: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (versions, start) in made::HOURS.iter().zip([TEN - 2 * HOUR, TEN - HOUR]) {
        for version in versions {
            for host in 0..made::HOSTS.len() as u64 {
                let profile = made::profile(version, host, start, HOUR);
                let (value, count) = wanted.entry(version.service).or_default();
                *value += profile
                    .samples
                    .iter()
                    .map(|sample| sample.weight.0)
                    .sum::<u64>();
                *count += profile.sample_count();
            }
        }
    }
    for (service, (value, count)) in wanted {
        let query = fleet.query(&format!("&service={service}"));
        let report = fleet.json(&["report", &query, "--json"]);
        assert_eq!(report["selection"]["samples"], count, "{service}");
        let seconds = report["selection"]["seconds"].as_f64().unwrap();
        assert!(
            (seconds - value as f64 / 1e9).abs() < 1e-3,
            "{service}: {seconds}"
        );
        assert_eq!(value, count * PERIOD);
    }
}

#[test]
fn what_is_made_of_a_query_is_named_after_it() {
    let fleet = Fleet::new("query-exports");
    let query = fleet.query("&service=api&version=1.4");
    fleet.text(&["export", &query, "--to", "collapsed"]);
    let folded = std::fs::read_to_string(fleet.0.join("api-1.4.folded")).unwrap();
    assert!(folded.contains("to_json"), "{folded}");
    for format in ["pprof", "speedscope", "otlp", "callgrind", "firefox"] {
        let output = fleet.0.join(format);
        let output = output.to_str().unwrap();
        fleet.text(&["export", &query, "--to", format, "--force", "-o", output]);
        assert!(std::fs::metadata(output).unwrap().len() > 100, "{format}");
    }
    fleet.text(&["view", &query, "-o", "page.html"]);
    fleet.text(&["flame", &query, "-o", "flame.svg"]);
    fleet.text(&["graph", &query, "-o", "graph.svg"]);
    let with_time = format!("{query}&step=1m");
    fleet.text(&["heatmap", &with_time, "-o", "heat.svg"]);
    // A recording of the answer says the same.
    fleet.text(&["export", &query, "--to", "profundo", "-o", "part.profundo"]);
    let words = ["functions", "--json", "--limit", "100"];
    let of = |what: &str| shares(&fleet.json(&[&["report", what][..], &words].concat()));
    assert_eq!(of("part.profundo"), of(&query));
    // Two answers as one recording.
    let other = format!("v=2:{}", fleet.query("&service=api&version=1.5"));
    fleet.text(&["merge", &query, &other, "-o", "both.profundo"]);
    let both = of("both.profundo");
    let all = of(&fleet.query("&service=api"));
    assert!((both["to_json"] - all["to_json"]).abs() < 1e-6);
}

#[test]
fn versions_are_compared_by_their_hosts() {
    let fleet = Fleet::new("query-diff");
    let [before, after] =
        ["1.4", "1.5"].map(|version| fleet.query(&format!("&service=api&version={version}")));
    let text = fleet.text(&["diff", &before, &after]);
    assert!(
        text.contains("The spread between hosts is measured: 4 before and 4 after"),
        "{text}"
    );
    assert!(text.contains("10 ms are a share of 1 %"), "{text}");
    let diff = fleet.json(&["diff", &before, &after, "--by", "function", "--json"]);
    let rows = diff["tables"][0]["rows"].as_array().unwrap();
    // Its caller has grown with it, and stands behind it.
    let row = &rows[0];
    assert_eq!(row["name"], "to_json");
    // Three points more, beyond what all others give up for it.
    let change = row["self_change"].as_f64().unwrap();
    assert!((0.025..0.042).contains(&change), "{row}");
    // Windows of different length have the same shares.
    let [part, rest] = [
        "from=2026-11-28T08:00Z&to=2026-11-28T08:10Z",
        "from=2026-11-28T08:10Z&to=2026-11-28T09:00Z",
    ]
    .map(|time| format!("{}?service=api&{time}", fleet.0.join("store").display()));
    let same = fleet.text(&["diff", &part, &rest]);
    assert!(same.starts_with("No difference beyond chance."), "{same}");
    assert!(!same.contains("more than the code differs"), "{same}");
}

#[test]
fn what_has_grown_since_the_version_before_is_named() {
    let fleet = Fleet::new("query-regressions");
    let query = fleet.query("");
    let found = fleet.json(&["regressions", &query, "--json"]);
    let rows = found["functions"].as_array().unwrap();
    assert_eq!(rows.len(), 1, "{found}");
    assert_eq!(
        (&rows[0]["service"], &rows[0]["function"]),
        (&"api".into(), &"to_json".into())
    );
    let change = rows[0]["change_share"].as_f64().unwrap();
    assert!((0.025..0.042).contains(&change), "{change}");
    let (low, high) = (&rows[0]["low_share"], &rows[0]["high_share"]);
    assert!(low.as_f64().unwrap() > 0.0 && high.as_f64().unwrap() > change);
    // Of 6.4 CPUs, three points and a little.
    let cpus = rows[0]["cpus"].as_f64().unwrap();
    assert!((0.15..0.28).contains(&cpus), "{cpus}");
    let services = found["services"].as_array().unwrap();
    let why: Vec<&Value> = services.iter().map(|service| &service["why_not"]).collect();
    assert_eq!(
        why,
        [&Value::Null, &Value::Null, &"it has one version, 7".into()]
    );
    assert!(
        services[..2]
            .iter()
            .all(|service| service["replicas"] == "hosts")
    );
    let text = fleet.text(&["regressions", &query]);
    assert!(
        text.starts_with("1 function of api has grown, which costs "),
        "{text}"
    );
    fleet.refusal(&["regressions", &query, "--fail"], 3);
    // The other way round it is an improvement.
    let back = ["--since", "1.5", "--of", "1.4", "--fail"];
    let api = fleet.query("&service=api");
    let none = fleet.text(&[&["regressions", &api][..], &back].concat());
    assert!(
        none.starts_with("Nothing has grown beyond chance in 1 service."),
        "{none}"
    );
    let unknown = fleet.text(&["regressions", &api, "--of", "9"]);
    assert!(
        unknown.contains("it has no version 9, but 1.4, 1.5"),
        "{unknown}"
    );
}

#[test]
fn a_store_lists_its_services() {
    let fleet = Fleet::new("query-list");
    let text = fleet.text(&["list", &fleet.query("")]);
    let rows: Vec<Vec<&str>> = (text.lines().skip(2))
        .map(|line| {
            line.split("  ")
                .map(str::trim)
                .filter(|cell| !cell.is_empty())
                .collect()
        })
        .collect();
    assert_eq!(rows.len(), 5, "{text}");
    assert_eq!(rows[0][..4], ["api", "1.4", "4", "8"], "{text}");
    assert_eq!(rows[0][4], "2026-11-28 08:00 to 08:59", "{text}");
    let json = fleet.json(&["list", &fleet.query("&service=worker"), "--json"]);
    let [worker] = &json["services"].as_array().unwrap()[..] else {
        panic!("{json}");
    };
    assert_eq!(
        (&worker["version"], &worker["processes"]),
        (&"7".into(), &4.into())
    );
    assert_eq!(worker["hosts"], serde_json::json!(["h1", "h2", "h3", "h4"]));
}

#[test]
fn a_query_that_finds_nothing_says_what_there_is() {
    let fleet = Fleet::new("query-errors");
    let says = |rest: &str, wanted: &str| {
        let said = fleet.refusal(&["report", &fleet.query(rest)], 1);
        assert!(said.contains(wanted), "{rest}: {said}");
    };
    says(
        "&service=apo",
        "there is no service apo from 2026-11-28 08:00 to 10:00; there are api, auth, worker",
    );
    says(
        "&service=api&version=9",
        "there is no version 9 from 2026-11-28 08:00 to 10:00; there are 1.4, 1.5",
    );
    says("&service=api&pod=x", "has a pod, so pod=x finds nothing");
    says(
        "&service=api&type=alloc",
        "there is nothing of type=alloc from 2026-11-28 08:00 to 10:00; there is cpu",
    );
    let place = fleet.0.join("store");
    let place = place.display();
    let early = format!("{place}?service=api&from=2026-11-20&to=2026-11-21");
    let said = fleet.refusal(&["report", &early], 1);
    assert!(
        said.contains("the store has some from 2026-11-28 08:00 to 2026-11-28 10:00"),
        "{said}"
    );
    let said = fleet.refusal(&["report", &format!("{place}?servce=api")], 2);
    assert!(
        said.contains("it knows no servce; write service=api"),
        "{said}"
    );
    let said = fleet.refusal(&["report", &format!("{place}")], 1);
    assert!(
        said.contains("is a store of a fleet's profiles, and a query says which"),
        "{said}"
    );
    let said = fleet.refusal(&["report", &format!("{place}x?service=api")], 1);
    assert!(said.contains("there is no folder"), "{said}");
    let said = fleet.refusal(&["report", &fleet.query("&service=api"), "--from", "60"], 1);
    assert!(said.contains("add `&step=1m`"), "{said}");
}

/// A report says what its store lacks: a whole table, and files that are cut.
#[test]
fn what_is_missing_is_told() {
    let fleet = Fleet::new("query-missing");
    let below = |folder: &str| {
        let files = profundo_testing::files_below(&fleet.0.join("store").join(folder));
        assert!(!files.is_empty(), "{folder}");
        files
    };
    for file in below("fresh/stacks") {
        std::fs::remove_file(file).unwrap();
    }
    let report = fleet.text(&["report", &fleet.query("&service=api")]);
    assert!(report.contains("[stack not kept]"), "{report}");
    assert!(
        report.contains("100.0 % of the time has no stack"),
        "{report}"
    );
    for file in below("fresh/samples") {
        let bytes = std::fs::read(&file).unwrap();
        std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    }
    let said = fleet.refusal(&["report", &fleet.query("&service=api")], 1);
    assert!(said.contains("could not be read"), "{said}");
}
