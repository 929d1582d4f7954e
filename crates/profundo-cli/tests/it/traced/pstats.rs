//! Python's own `pstats`, of each version that is here, and what else reads its files.

use std::process::Command;

use profundo_testing::skip;

use super::tools::{printed, python_with, pythons};
use super::{exported, saved};

/// Orders and restrictions, as options of ours and in Python.
const ASKED: [(&[&str], &str); 15] = [
    (&[], "s.sort_stats(-1).print_stats()"),
    (&["--sort=time"], "s.sort_stats('time').print_stats()"),
    (
        &["--sort=tottime,name"],
        "s.sort_stats('tottime', 'name').print_stats()",
    ),
    (
        &["--sort=cumulative"],
        "s.sort_stats('cumulative').print_stats()",
    ),
    (&["--sort=calls"], "s.sort_stats('calls').print_stats()"),
    (&["--sort=pcalls"], "s.sort_stats('pcalls').print_stats()"),
    (&["--sort=nfl"], "s.sort_stats('nfl').print_stats()"),
    (
        &["--sort=filename,line"],
        "s.sort_stats('filename', 'line').print_stats()",
    ),
    (&["--sort=module"], "s.sort_stats('module').print_stats()"),
    (
        &["--sort=name,line"],
        "s.sort_stats('name', 'line').print_stats()",
    ),
    (&["--sort=line"], "s.sort_stats('line').print_stats()"),
    (
        &["--sort=cumu", "--only=rows.py", "--only=.6", "--only=1"],
        "s.sort_stats('cumu').print_stats('rows.py', .6, 1)",
    ),
    (&["--callers"], "s.sort_stats(-1).print_callers()"),
    (
        &["--callees", "--sort=t"],
        "s.sort_stats('time').print_callees()",
    ),
    (
        &["--callers", "--sort=ca", "--limit=3"],
        "s.sort_stats('calls').print_callers(3)",
    ),
];

#[test]
fn each_python_prints_the_table_that_we_print() {
    let (folder, _) = saved();
    let file = exported(&folder, "pstats");
    let pythons = pythons();
    if pythons.is_empty() {
        return skip("there is no Python to read .pstats with");
    }
    let script = "import pstats, sys\n\
                  for asked in sys.argv[2:]:\n\
                  \x20   s = pstats.Stats(sys.argv[1])\n\
                  \x20   s.files = []\n\
                  \x20   exec(asked)\n\
                  \x20   print('<end>')\n";
    let ours = ASKED.map(|(options, _)| {
        let words = [&["report", "app.profundo", "pstats"], options].concat();
        let outcome = folder.run(&words);
        outcome.succeeded();
        outcome.out
    });
    for python in &pythons {
        let mut command = Command::new(python);
        command.args(["-c", script]).arg(&file);
        command.args(ASKED.map(|(_, asked)| asked));
        let theirs = printed(command.env("PYTHONIOENCODING", "utf-8"));
        let theirs: Vec<&str> = theirs.split("<end>\n").collect();
        assert_eq!(theirs.len(), ASKED.len() + 1);
        for ((ours, theirs), (_, asked)) in ours.iter().zip(theirs).zip(ASKED) {
            assert_eq!(ours, theirs, "{}: {asked}", python.display());
        }
    }
}

/// The file has the same types at the same places as one of cProfile.
#[test]
fn the_file_is_as_cprofile_writes_it() {
    let (folder, _) = saved();
    let file = exported(&folder, "pstats");
    let script = "import cProfile, marshal, sys\n\
        def shape(stats):\n\
        \x20   seen = set()\n\
        \x20   for key, value in stats.items():\n\
        \x20       seen.add(('key',) + tuple(type(it) for it in key))\n\
        \x20       seen.add(('value',) + tuple(type(it) for it in value))\n\
        \x20       for caller, more in value[4].items():\n\
        \x20           seen.add(('caller',) + tuple(type(it) for it in caller))\n\
        \x20           seen.add(('more',) + tuple(type(it) for it in more))\n\
        \x20           assert caller in stats\n\
        \x20   return seen\n\
        def f(n): return len([f(n - 1)]) if n else 0\n\
        profile = cProfile.Profile()\n\
        profile.runcall(f, 3)\n\
        profile.create_stats()\n\
        ours = marshal.load(open(sys.argv[1], 'rb'))\n\
        assert shape(ours) == shape(profile.stats), (shape(ours), shape(profile.stats))\n\
        keys = [key for key in ours if key[0] == '~']\n\
        assert all(line == 0 and name[0] + name[-1] == '<>' for _, line, name in keys), keys\n\
        assert max(value[1] for value in ours.values()) > 5000000000\n";
    for python in pythons() {
        printed(Command::new(python).args(["-c", script]).arg(&file));
    }
}

#[test]
fn other_readers_of_pstats_take_it() {
    let (folder, _) = saved();
    let file = exported(&folder, "pstats");
    let packages = [
        "gprof2dot==2025.4.14",
        "pyprof2calltree==1.4.5",
        "snakeviz==2.2.2",
    ];
    let python = match python_with("pstats", &packages) {
        Ok(python) => python,
        Err(why) => return skip(&why),
    };
    let mut dot = Command::new(&python);
    let graph = printed(
        dot.args(["-m", "gprof2dot", "-f", "pstats", "-n0", "-e0"])
            .arg(&file),
    );
    assert!(
        graph.contains("digraph") && graph.contains("rows:30:read"),
        "{graph}"
    );
    let tree = folder.path().join("tree.callgrind");
    let mut convert = Command::new(&python);
    convert
        .args(["-m", "pyprof2calltree", "-i"])
        .arg(&file)
        .arg("-o")
        .arg(&tree);
    printed(&mut convert);
    let tree = std::fs::read_to_string(tree).unwrap();
    assert!(tree.contains("fn=") && tree.contains("calls="), "{tree}");
    let script = "import pstats, sys\nfrom snakeviz.stats import table_rows, json_stats\n\
                  s = pstats.Stats(sys.argv[1])\nprint(len(table_rows(s)), len(json_stats(s)) > 10)";
    let rows = printed(Command::new(&python).args(["-c", script]).arg(&file));
    assert_eq!(rows.trim(), "14 True");
}
