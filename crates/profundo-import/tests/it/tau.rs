//! Profiles in the form of TAU, written by hand after real ones: TAU was not to be had. Profiles of
//! TAU itself, of four ranks with paths, were read by hand as well, and had the right sums.

use profundo_model::SampleKind;

use crate::support::{in_step, read, read_text, stacks};

#[test]
fn paths_make_a_tree_and_ranks_are_processes() {
    let imported = read("tau/profile.0.0.0");
    assert_eq!(imported.reader.name(), "tau");
    let profile = &imported.profile;
    assert_eq!(profile.meta.kind, SampleKind::Traced);
    assert_eq!(profile.processes.len(), 2);
    let main = "int main(int, char **)";
    let work = "void work(double)";
    let expected = [
        (".TAU application".to_owned(), 150_000),
        (format!(".TAU application;{main}"), 900_000),
        (format!("{main};{work}"), 4_500_000),
        (format!("{main};MPI_Recv()"), 3_000_000),
        // Beyond the paths, and all of the other rank.
        (work.to_owned(), 1_700_000),
        ("[SAMPLE] work".to_owned(), 600_000),
        ("odd \"quoted\" name".to_owned(), 1_000),
    ];
    assert_eq!(stacks(profile), expected.into());
    let calls: u64 = profile.traced.calls.iter().map(|call| call.calls).sum();
    assert_eq!(calls, 1 + 1 + 10 + 2 + 20 + 1 + 1 + 1);
    let lines: Vec<_> = profile.frames.iter().map(|frame| frame.line).collect();
    assert_eq!(lines, [0, 30, 5, 0, 9, 0]);
}

#[test]
fn counters_are_events() {
    let profile = read("tau/profile.1.0.3").profile;
    assert_eq!(profile.meta.kind, SampleKind::Events);
    assert_eq!(profile.meta.event, "PAPI_TOT_CYC");
    assert_eq!(stacks(&profile)["void work(double)"], 200);
    assert_eq!(profile.threads.len(), 1);
}

#[test]
fn calls_without_own_time_keep_their_rows() {
    // `main` only calls, and `leaf` has taken less than a microsecond.
    let text = "3 templated_functions_MULTI_TIME\n\
        # Name Calls Subrs Excl Incl ProfileCalls #\n\
        \"main()\" 1 2 0 500 0 GROUP=\"TAU_CALLPATH\"\n\
        \"main() => work()\" 2 0 500 500 0 GROUP=\"TAU_CALLPATH\"\n\
        \"main() => leaf()\" 7 0 0 0 0 GROUP=\"TAU_CALLPATH\"\n\
        0 aggregates\n";
    let profile = read_text(text).profile;
    let calls = &profile.traced.calls;
    assert_eq!(calls.len(), 3);
    assert_eq!(calls.iter().map(|call| call.calls).sum::<u64>(), 10);
    assert_eq!(calls.iter().filter(|call| call.own.0 == 0).count(), 2);
    in_step(&profile);
}
