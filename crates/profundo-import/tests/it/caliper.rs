//! Files that Caliper wrote, of our program and of others (`testdata/import/caliper/README.md`),
//! against what Hatchet and Caliper's own reader in Python read of them.

use profundo_model::SampleKind;

use crate::support::{functions_of_samples, oracle, read, read_text, read_value, stacks};

/// The time before, after and between regions, which Hatchet leaves out.
const OUTSIDE: &str = "[outside of regions]";

#[track_caller]
fn check(file: &str, reader: &str, kind: SampleKind) {
    let imported = read(&format!("caliper/{file}"));
    assert_eq!(imported.reader.name(), reader);
    assert_eq!(imported.profile.meta.kind, kind);
    let mut sums = functions_of_samples(&imported.profile);
    sums.remove(OUTSIDE);
    assert_eq!(sums, oracle(&format!("caliper/{file}.sums.txt")), "{file}");
}

#[test]
fn times_are_those_that_hatchet_reads() {
    check("calls.cali", "caliper", SampleKind::Traced);
    check("events.cali", "caliper", SampleKind::Traced);
    check("lulesh.cali", "caliper", SampleKind::Wall);
    check("regions.cali", "caliper", SampleKind::Wall);
    check("spot.cali", "caliper", SampleKind::Traced);
    check("trace.cali", "caliper", SampleKind::Traced);
    check("regions.json", "caliper-json", SampleKind::Wall);
    check("ordered.json", "caliper-json", SampleKind::Wall);
    check("lulesh.json", "caliper-json", SampleKind::Wall);
}

#[test]
fn own_times_come_from_those_with_callees() {
    check("spot-old.cali", "caliper", SampleKind::Wall);
}

#[test]
fn calls_and_threads_are_those_of_the_program() {
    let profile = read("caliper/events.cali").profile;
    // The main thread, the other one, and the start of that before it has a number.
    assert_eq!(profile.threads.len(), 3);
    for file in ["events.cali", "calls.cali", "spot.cali", "trace.cali"] {
        let profile = read(&format!("caliper/{file}")).profile;
        let calls = profile.traced.calls.iter();
        let calls = calls.filter(|call| {
            let stack = profile.stacks.get(call.stack);
            let frame = profile.locations.get(stack.location).frames[0];
            profile.function_name(frame) == "assemble"
        });
        // Five, three and one in the loops, and one in the thread.
        assert_eq!(calls.map(|call| call.calls).sum::<u64>(), 10, "{file}");
    }
}

#[test]
fn any_number_is_chosen_by_name() {
    let profile = read_value("caliper/lulesh.cali", Some("count")).profile;
    assert_eq!(profile.meta.kind, SampleKind::Events);
    assert_eq!(stacks(&profile)["main"], 2);
    // By its title.
    let profile = read_value("caliper/spot.cali", Some("Calls (total)")).profile;
    let loops = "main;solve;iterations, inner=a\\b;assemble";
    assert_eq!(stacks(&profile)[loops], 5);
    let path = crate::support::testdata("caliper/lulesh.cali");
    let options = profundo_import::Options {
        value: Some("cycles".to_owned()),
    };
    let error = profundo_import::read_file(&path, &options).unwrap_err();
    assert!(error.to_string().contains("sum#time.duration"), "{error}");
}

#[test]
fn ranks_are_processes() {
    let profile = read("caliper/lulesh.json").profile;
    assert_eq!(profile.processes.len(), 8);
    let name = profile.strings.get(profile.processes[0].command);
    assert!(name.starts_with("rank "), "{name}");
}

#[test]
fn samples_have_the_callpath() {
    let profile = read("caliper/cpi.json").profile;
    // Hatchet fails on it. These are the sums of the columns of counts and times.
    let weight: u64 = profile.samples.iter().map(|row| row.weight.0).sum();
    let count: u64 = profile.gathered.rows.iter().map(|row| row.samples).sum();
    assert_eq!((count, weight), (460, 2_299_906_000));
    assert_eq!(profile.processes.len(), 4);
}

#[test]
fn odd_lines_are_left_out() {
    let text = "\
__rec=node,id=20,attr=10,data=276,parent=3
__rec=node,id=21,attr=8,data=region,parent=20
__rec=node,id=22,attr=10,data=65,parent=5
__rec=node,id=23,attr=8,data=sum#time.duration,parent=22
__rec=node,id=25,attr=8,data=cali.caliper.version,parent=20
__rec=node,id=26,attr=25,data=2.9.0
__rec=node,id=30,attr=21,data=a\\,b\\=c\\\\d
__rec=node,id=31,attr=21,data=inner,parent=30
__rec=node,id=32,attr=99,data=inner,parent=30
__rec=node,id=33,attr=21,data=inner,parent=77
no record
__rec=ctx,ref=30,attr=23,data=0.25
__rec=ctx,ref=31=30,attr=23,data=0.5
__rec=ctx,ref=31,attr=77,data=0.5
__rec=ctx,ref=31,attr=23
";
    let imported = read_text(text);
    assert_eq!(imported.warnings.len(), 1);
    assert!(imported.warnings[0].to_string().contains("3 lines"));
    let name = "a,b=c\\d";
    let expected = [
        (name.to_owned(), 250_000_000),
        (format!("{name};inner;{name}"), 500_000_000),
    ];
    assert_eq!(stacks(&imported.profile), expected.into());
}

/// The attributes of the files below.
const HEAD: &str = "\
__rec=node,id=20,attr=10,data=276,parent=3
__rec=node,id=21,attr=8,data=region,parent=20
__rec=node,id=22,attr=10,data=65,parent=5
__rec=node,id=23,attr=8,data=sum#time.duration,parent=22
__rec=node,id=25,attr=8,data=cali.caliper.version,parent=20
__rec=node,id=26,attr=25,data=2.9.0
";

/// In time that grows with the square of the length, each would take minutes in this build.
#[test]
fn chains_of_nodes_are_walked_once() {
    let chain = |attribute: u32, end: u32| -> String {
        let node = |id| {
            format!(
                "__rec=node,id={id},attr={attribute},data=a,parent={}\n",
                id - 1
            )
        };
        (101..end).map(node).collect()
    };
    let record = "__rec=ctx,attr=23,data=1\n";
    let ids: Vec<String> = (101..10_000).map(|id| id.to_string()).collect();
    let ids = ids.join("=");
    // Each node is an attribute, with those above it as its properties.
    let root = "__rec=node,id=100,attr=8,data=a,parent=3\n";
    let text = format!(
        "{HEAD}{root}{}__rec=ctx,attr={ids}\n{record}",
        chain(8, 10_000)
    );
    assert_eq!(read_text(&text).profile.samples.len(), 1);
    // The facts about the run are all of them, many times.
    let root = "__rec=node,id=100,attr=21,data=a\n";
    let globals = format!("__rec=globals,ref={}\n", vec!["9999"; 20_000].join("="));
    let text = format!("{HEAD}{root}{}{globals}{record}", chain(21, 10_000));
    assert_eq!(read_text(&text).profile.samples.len(), 1);
}

#[test]
fn paths_that_take_too_much_are_left_out() {
    let mut text = HEAD.to_owned();
    for (start, end) in [(100, 1_000), (1_001, 2_000)] {
        text += &format!("__rec=node,id={start},attr=21,data=a\n");
        for id in start + 1..end {
            text += &format!("__rec=node,id={id},attr=21,data=a,parent={}\n", id - 1);
        }
    }
    // Each node of the first chain has all of the second one below it.
    for id in 100..1_000 {
        text += &format!("__rec=ctx,ref={id}=1999,attr=23,data=1\n");
    }
    let imported = read_text(&text);
    let warning = imported.warnings[0].to_string();
    assert!(warning.contains("records could not be read"), "{warning}");
    assert!(imported.profile.samples.len() > 5);
}

#[test]
fn json_of_one_member_is_no_profile() {
    let read = |text: &str| profundo_import::read(text.as_bytes(), &Default::default());
    assert!(read("{\"data\": [[1, 2]]}").is_err_and(|it| it.to_string().contains("known format")));
    assert!(read("{\"data\": [[1, 2], [").is_err_and(|it| it.to_string().contains("caliper-json")));
}
