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
        let found = Command::new(&python).args(["-c", &format!("import {package}")]).output();
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
        put(&store, &mut writer("web", host), &profile(NINE, &["main;w"]));
    }
    join(&store, &Joining::at(NINE + 2 * HOUR)).unwrap();
    sweep(&store).unwrap();
    store
}

#[test]
fn duckdb_has_the_same_sums() {
    let folder = Temporary::new("store-duckdb");
    let store = store(&folder);
    let program = "
import duckdb, sys
root = sys.argv[1]
def table(name):
    return f\"read_parquet('{root}/{name}/**/*.parquet', hive_partitioning=true)\"
rows = duckdb.sql(f'''
    WITH named AS (
        SELECT s.stack, string_agg(f.function, ';' ORDER BY place) AS names
        FROM (SELECT DISTINCT ON (stack) stack, frames FROM {table('stacks')}) s,
             unnest(s.frames) WITH ORDINALITY AS u(frame, place),
             (SELECT DISTINCT ON (frame) frame, function FROM {table('frames')}) f
        WHERE u.frame = f.frame GROUP BY s.stack)
    SELECT names, sum(value)::BIGINT, sum(count)::BIGINT
    FROM {table('samples')} JOIN named USING (stack)
    WHERE service = 'api' AND date = '2026-11-28' GROUP BY names ORDER BY names''').fetchall()
print(rows)";
    let Some(found) = python(&["duckdb"], program, &store) else { return };
    assert_eq!(found, format!("[('main;a', {}, 4), ('main;b', {}, 2)]", 4 * PERIOD, 2 * PERIOD));
    let ours = sums(&ask(&store, "service=api").unwrap());
    assert_eq!((ours["main;a"], ours["main;b"]), (4 * PERIOD, 2 * PERIOD));
}

#[test]
fn pandas_and_polars_read_every_table() {
    let folder = Temporary::new("store-frames");
    let store = store(&folder);
    let program = "
import sys, pandas, polars
root = sys.argv[1]
samples = pandas.read_parquet(f'{root}/samples')
print(int(samples['value'].sum()), samples['ts'].dt.tz, samples['ts'].max())
samples = polars.scan_parquet(f'{root}/samples/**/*.parquet', hive_partitioning=True)
print(samples.select(polars.col('value').sum()).collect().item())
for name in ['stacks', 'frames', 'labels', 'segments']:
    rows = pandas.read_parquet(f'{root}/{name}')
    print(name, len(rows), polars.read_parquet(f'{root}/{name}/**/*.parquet').height)";
    let Some(found) = python(&["pandas", "polars", "pyarrow"], program, &store) else { return };
    let wanted = format!(
        "{sum} UTC 2026-11-28 09:00:00+00:00\n{sum}\nstacks 3 3\nframes 4 4\nlabels 4 4\nsegments 4 4",
        sum = 8 * PERIOD
    );
    assert_eq!(found, wanted);
}

#[test]
fn a_table_of_another_writer_with_more_columns_is_read() {
    let folder = Temporary::new("store-pyarrow");
    let store = Folder::new(folder.path());
    put(&store, &mut writer("api", "h1"), &profile(NINE, &["main;a", "main;a"]));
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
    let Some(found) = python(&["pyarrow"], program, &store) else { return };
    assert_eq!(found, "12");
    let found = ask(&store, "service=api&host=h1").unwrap();
    assert_eq!(sums(&found).into_iter().collect::<Vec<_>>(), [("main;a".to_owned(), 2 * PERIOD)]);
    assert_eq!(found.meta.notes, [""; 0]);
    assert_eq!(join(&store, &Joining::at(NINE + 2 * HOUR)).unwrap().unreadable, 0);
    assert_eq!(ask(&store, "").unwrap().sample_count(), 2);
    assert!(!store.list(&Partition::of("api", NINE).folder("samples", false)).unwrap().is_empty());
}
