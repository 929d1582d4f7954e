//! Tables of a document, as other programs read them.

use profundo_tables::{Error, find, tables, write_csv, write_json_lines, write_parquet};

const REPORT: &str = r#"{
  "profundo": {"schema": 2, "report": "lines"},
  "recording": {"notes": ["a", "b"]},
  "files": [
    {"file": "a, b.py", "share": 1, "lines": [
      {"line": 3, "share": 0.5, "at": {"column": 2}, "is_hot": true},
      {"line": 4, "share": 0, "at": {"column": null}, "is_hot": false, "text": "x = \"1\""}]},
    {"file": "c.py", "share": 0, "lines": []}],
  "files_left_out": 0,
  "notes": []
}"#;

#[test]
fn rows_within_rows_are_a_table() {
    let tables = tables(REPORT).unwrap();
    let names: Vec<&str> = tables.iter().map(|table| &table.name[..]).collect();
    assert_eq!(names, ["files", "lines"]);
    let mut csv = Vec::new();
    write_csv(find(&tables, Some("lines")).unwrap(), &mut csv).unwrap();
    let text = String::from_utf8(csv).unwrap();
    assert_eq!(
        text,
        "file,line,share,at_column,is_hot,text\n\
         \"a, b.py\",3,0.5,2,true,\n\
         \"a, b.py\",4,0,,false,\"x = \"\"1\"\"\"\n"
    );
    let mut lines = Vec::new();
    write_json_lines(&[&tables[0]], &mut lines).unwrap();
    let text = String::from_utf8(lines).unwrap();
    let first = text.lines().next().unwrap();
    assert_eq!(first, r#"{"table":"files","file":"a, b.py","share":1}"#);
}

#[test]
fn a_missing_table_is_named_with_those_that_there_are() {
    let tables = tables(REPORT).unwrap();
    let error = find(&tables, Some("functions")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the report has no table functions; it has files, lines"
    );
    assert!(matches!(find(&[], None), Err(Error::Nothing)));
}

#[test]
fn pandas_reads_parquet_and_csv() {
    let tables = tables(REPORT).unwrap();
    let lines = find(&tables, Some("lines")).unwrap();
    let folder = profundo_testing::Folder::new("tables");
    let (parquet, csv) = (folder.join("t.parquet"), folder.join("t.csv"));
    write_parquet(lines, &mut std::fs::File::create(&parquet).unwrap()).unwrap();
    write_csv(lines, &mut std::fs::File::create(&csv).unwrap()).unwrap();
    let program = "import sys, pandas\n\
        for t in pandas.read_parquet(sys.argv[1]), pandas.read_csv(sys.argv[2]):\n\
        \x20   print(list(t.columns), t.line.tolist(), t.share.tolist(), t.is_hot.tolist(), t.file[1], t.at_column.isna().tolist(), t.text[1])";
    let mut python = std::process::Command::new("python3");
    let output = python
        .args(["-c", program])
        .arg(&parquet)
        .arg(&csv)
        .output();
    let Ok(output) = output
        .map_err(|_| ())
        .and_then(|output| match output.status.success() {
            true => Ok(output),
            false => Err(()),
        })
    else {
        profundo_testing::skip("pandas with pyarrow is not installed (pip install pandas pyarrow)");
        return;
    };
    let expected = "['file', 'line', 'share', 'at_column', 'is_hot', 'text'] [3, 4] [0.5, 0.0] \
                    [True, False] a, b.py [False, True] x = \"1\"\n";
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected.repeat(2));
}
