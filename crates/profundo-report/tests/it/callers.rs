//! The callers of a function.

use expect_test::{Expect, expect};
use profundo_analysis::callers;
use profundo_model::Profile;

use crate::fixture::{app, recursive, report};

fn check_callers(profile: &Profile, name: &str, expected: Expect) {
    let callers = callers(profile, name, None, None).unwrap();
    let mut text = Vec::new();
    report()
        .write_callers(profile, &callers, &mut text)
        .unwrap();
    // The first line keeps the indent that the others share.
    expected.assert_eq(&format!("⋮\n{}", String::from_utf8(text).unwrap()));
}

#[test]
fn callers_come_with_their_counts() {
    check_callers(
        &app(),
        "beta",
        expect![[r#"
            ⋮
             Count File          Line Function
             ===== ====          ==== ========
                 3 @App/app.jl     10 main()
        "#]],
    );
    check_callers(
        &app(),
        "memcpy",
        expect![[r#"
            ⋮
             Count File             Line Function
             ===== ====             ==== ========
                 2 @Base/reduce.jl     7 sum(v)
        "#]],
    );
    check_callers(
        &recursive(),
        "fact",
        expect![[r#"
            ⋮
             Count File    Line Function
             ===== ====    ==== ========
                 5 r.jl       3 fact(n)
                 3 r.jl       9 top()
        "#]],
    );
}

#[test]
fn the_root_has_no_callers() {
    check_callers(
        &app(),
        "main",
        expect![[r#"
            ⋮
            No callers were found in the samples.
        "#]],
    );
    check_callers(
        &Profile::default(),
        "f",
        expect![[r#"
            ⋮
            No callers were found in the samples.
        "#]],
    );
}
