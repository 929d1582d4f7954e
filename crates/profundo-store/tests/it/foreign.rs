//! Other tools: they read what is written here, and what they write is read here.

use std::process::Command;

use profundo_store::names::Partition;
use profundo_store::{Folder, Joining, Store, join, sweep};
use profundo_testing::Folder as Temporary;

use crate::given::{HOUR, NINE, PERIOD, ask, profile, put, sums, writer};

/// The output of a Python program with these packages; `None`, with a word, where one is missing.
fn python(packages: &[&str], program: &str, argument: &Folder) -> Option<String> {
    let python = std::env::var("PROFUNDO_STORE_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    for package in packages {
        let found = Command::new(&python)
            .args(["-c", &format!("import {package}")])
            .output();
        if !found.is_ok_and(|output| output.status.success()) {
            profundo_testing::skip(&format!("{python} has no package {package}"));
            return None;
        }
    }
    let output = Command::new(&python)
        .args(["-c", program])
        .arg(argument.root())
        .output()
        .expect("Python starts");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{error}");
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Two hosts and two services, of which a part is joined.
fn store(folder: &Temporary) -> Folder {
    let store = Folder::new(folder.path());
    for host in ["h1", "h2"] {
        let stacks = ["main;a", "main;b", "main;a"];
        put(&store, &mut writer("api", host), &profile(NINE, &stacks));
        put(
            &store,
            &mut writer("web", host),
            &profile(NINE, &["main;w"]),
        );
    }
    join(&store, &Joining::at(NINE + 2 * HOUR)).unwrap();
    sweep(&store).unwrap();
    store
}

/// The example for a tool on the page of the format, about a store.
fn example(tool: &str, store: &Folder) -> String {
    let page = include_str!("../../../../docs/fleet.md");
    let (_, section) = page
        .split_once(&format!("### {tool}\n"))
        .expect("a section");
    let (_, block) = section.split_once("```").expect("a block");
    let (block, _) = block.split_once("```").expect("its end");
    let (_, text) = block.split_once('\n').expect("its language");
    text.replace("DIR", &store.root().display().to_string())
}

/// The seconds of each function on the page's examples, as they print them.
const SECONDS: [(&str, u64); 2] = [("a", 4 * PERIOD), ("b", 2 * PERIOD)];

#[test]
fn duckdb_has_the_same_sums() {
    let folder = Temporary::new("store-duckdb");
    let store = store(&folder);
    let query = example("DuckDB", &store);
    let program = format!(
        "import duckdb\nrows = duckdb.sql(\"\"\"{query}\"\"\").fetchall()\n\
         print([(name, round(seconds * 1e9)) for name, file, seconds in rows])"
    );
    let Some(found) = python(&["duckdb"], &program, &store) else {
        return;
    };
    let [(a, most), (b, least)] = SECONDS;
    assert_eq!(found, format!("[('{a}', {most}), ('{b}', {least})]"));
    let ours = sums(&ask(&store, "service=api").unwrap());
    assert_eq!((ours["main;a"], ours["main;b"]), (most, least));
}

#[test]
fn clickhouse_has_the_same_sums() {
    let folder = Temporary::new("store-clickhouse");
    let store = store(&folder);
    let query = example("ClickHouse", &store);
    let program = format!(
        "from chdb.session import Session\nsession = Session()\nout = None\n\
         for one in \"\"\"{query}\"\"\".split(';'):\n    \
             if one.strip(): out = session.query(one, 'TSV')\n\
         rows = [line.split('\\t') for line in str(out).strip().split('\\n')]\n\
         print([(name, round(float(seconds) * 1e9)) for name, seconds in rows])"
    );
    let Some(found) = python(&["chdb"], &program, &store) else {
        return;
    };
    let [(a, most), (b, least)] = SECONDS;
    assert_eq!(found, format!("[('{a}', {most}), ('{b}', {least})]"));
}

#[test]
fn pandas_and_polars_have_the_same_sums() {
    let folder = Temporary::new("store-frames");
    let store = store(&folder);
    let [(_, most), (_, least)] = SECONDS;
    let program = example("pandas", &store);
    if let Some(found) = python(&["pandas", "pyarrow"], &program, &store) {
        let seconds = [most, least].map(|sum| (sum as f64 / 1e9 * 1e6).round() / 1e6);
        for (name, seconds) in ["a", "b"].iter().zip(seconds) {
            let line = found
                .lines()
                .find(|line| line.starts_with(&format!("{name} ")));
            assert!(
                line.is_some_and(|line| line.ends_with(&seconds.to_string())),
                "{found}"
            );
        }
    }
    let program = example("polars", &store);
    if let Some(found) = python(&["polars"], &program, &store) {
        assert!(
            found.contains(&most.to_string()) && found.contains(&least.to_string()),
            "{found}"
        );
    }
}

#[test]
fn a_table_of_another_writer_with_more_columns_is_read() {
    let folder = Temporary::new("store-pyarrow");
    let store = Folder::new(folder.path());
    put(
        &store,
        &mut writer("api", "h1"),
        &profile(NINE, &["main;a", "main;a"]),
    );
    // The same rows by pyarrow: every column may be null there, and one is new.
    let program = "
import sys, glob, os, pyarrow, pyarrow.parquet as parquet
[path] = glob.glob(sys.argv[1] + '/fresh/samples/**/*.parquet', recursive=True)
rows = parquet.read_table(path, partitioning=None)
rows = pyarrow.table({name: rows[name] for name in reversed(rows.column_names)})
rows = rows.append_column('colour', pyarrow.array(['red'] * len(rows)))
os.remove(path)
parquet.write_table(rows, path.replace('.parquet', '') + '.parquet', compression='snappy')
print(rows.num_columns)";
    let Some(found) = python(&["pyarrow"], program, &store) else {
        return;
    };
    assert_eq!(found, "12");
    let found = ask(&store, "service=api&host=h1").unwrap();
    assert_eq!(
        sums(&found).into_iter().collect::<Vec<_>>(),
        [("main;a".to_owned(), 2 * PERIOD)]
    );
    assert_eq!(found.meta.notes, [""; 0]);
    assert_eq!(
        join(&store, &Joining::at(NINE + 2 * HOUR))
            .unwrap()
            .unreadable,
        0
    );
    assert_eq!(ask(&store, "").unwrap().sample_count(), 2);
    assert!(
        !store
            .list(&Partition::of("api", NINE).folder("samples", false))
            .unwrap()
            .is_empty()
    );
}
