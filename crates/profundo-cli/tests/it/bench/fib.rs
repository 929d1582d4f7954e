//! The example with the numbers of Fibonacci: what its page shows is so.

use std::fs;
use std::path::Path;

use profundo_testing::python;

use crate::machine::{Folder, Outcome};

const SETUP: &str = "from fib import iterative, recursive, memoised, closed_form";

/// `bench` of some of the functions, in a copy of the example's folder.
fn compared(functions: &[&str], n: u32, more: &[&str]) -> Option<Outcome> {
    let python = python()?;
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/fib/fib.py");
    let folder = Folder::new();
    fs::copy(example, folder.path().join("fib.py")).unwrap();
    let mut words = vec!["bench".to_owned(), format!("--with={}", python.display())];
    words.extend(["-s", SETUP, "--check"].map(str::to_owned));
    for function in functions {
        words.extend(["--python".to_owned(), format!("{function}({n})")]);
    }
    words.extend(more.iter().map(|word| (*word).to_owned()));
    Some(folder.run(&words))
}

#[test]
fn all_four_agree_on_small_numbers() {
    let all = ["iterative", "recursive", "memoised", "closed_form"];
    let Some(outcome) = compared(&all, 20, &["-n2", "-r8"]) else {
        return;
    };
    assert!(
        outcome
            .succeeded()
            .out
            .contains("All of them give the same."),
        "{outcome:#?}"
    );
}

#[test]
fn the_closed_form_is_the_fastest_and_wrong_past_70() {
    let three = ["iterative", "memoised", "closed_form"];
    let Some(outcome) = compared(&three, 70, &["-n500", "-r20"]) else {
        return;
    };
    assert!(
        outcome
            .succeeded()
            .out
            .contains("`closed_form(70)` is the fastest: "),
        "{outcome:#?}"
    );
    assert!(
        outcome.out.contains("All of them give the same."),
        "{outcome:#?}"
    );
    let wrong = "`iterative(71)` gives 308061521170129, `closed_form(71)` gives 308061521170130";
    compared(&three, 71, &[]).unwrap().refused(1, wrong);
    // The page says what is so.
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/fib/README.md");
    let page = fs::read_to_string(page).unwrap();
    let sentence = format!("profundo: they do not give the same: {wrong}");
    assert!(page.contains(&sentence), "{sentence}");
    assert!(page.contains("`closed_form(70)` is the fastest: "));
    assert!(page.contains(SETUP));
}
