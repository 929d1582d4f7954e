//! Native programs whose blocks are all known: each is in the snapshot, with what it holds, and the
//! program goes on as if nothing had been.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use profundo_formats::heapsnapshot;
use profundo_model::graph::{Graph, Label, NodeId};
use profundo_testing::{skip, wait_until};

use super::Asked;
use crate::machine::{Folder, c_program};

/// A list, a ring, and two blocks that are lost, of which the first holds the second. One thread
/// waits with a block that only it knows, another one asks for blocks and frees them all the time.
/// It ends on request.
const PROGRAM: &str = r#"
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LENGTH = 1000 };
struct node { struct node *next; char more[40]; };
struct node *volatile list, *volatile ring;
static FILE *out;
static atomic_int over, are_there;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static __attribute__((noinline)) void make(void) {
    struct node *last = 0;
    for (int i = 0; i < LENGTH; i++) {
        struct node *node = calloc(1, sizeof *node);
        node->next = last;
        last = node;
    }
    list = last;
    for (struct node *node = list; node; node = node->next)
        fprintf(out, "list %lu\n", (unsigned long)node);
    struct node *a = calloc(1, 64), *b = calloc(1, 64);
    a->next = b;
    b->next = a;
    ring = a;
    fprintf(out, "ring %lu\nring %lu\n", (unsigned long)a, (unsigned long)b);
    struct node *lost = calloc(1, 4000);
    lost->next = calloc(1, 200);
    fprintf(out, "lost %lu\nlost %lu\n", (unsigned long)lost, (unsigned long)lost->next);
}

/* Nothing of the above is left on the stack. */
static __attribute__((noinline)) void wipe(void) {
    volatile char room[1 << 16];
    for (size_t i = 0; i < sizeof room; i++) room[i] = 0;
}

static void *wait_with_a_block(void *nothing) {
    char *volatile block = malloc(333);
    fprintf(out, "held %lu\n", (unsigned long)block);
    are_there++;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    free(block);
    return nothing;
}

static void *churn(void *nothing) {
    are_there++;
    while (!over) {
        char *block = malloc(500);
        block[0] = 1;
        free(block);
    }
    return nothing;
}

int main(int count, char **words) {
    out = fopen(words[1], "w");
    fprintf(out, "process %d\n", getpid());
    make();
    wipe();
    pthread_t waits, churns;
    pthread_mutex_lock(&lock);
    pthread_create(&waits, 0, wait_with_a_block, 0);
    while (are_there < 1) usleep(1000);
    pthread_create(&churns, 0, churn, 0);
    while (are_there < 2) usleep(1000);
    fclose(out);
    puts("ready");
    fflush(stdout);
    char byte;
    while (read(0, &byte, 1) > 0) {}
    over = 1;
    pthread_mutex_unlock(&lock);
    pthread_join(waits, 0);
    pthread_join(churns, 0);
    int length = 0;
    for (struct node *node = list; node; node = node->next) length++;
    int is_well = length == LENGTH && ring->next->next == ring;
    is_well &= waitpid(-1, 0, 0) == -1 && errno == ECHILD;
    puts(is_well ? "nothing was noticed" : "something was noticed");
    return 0;
}
"#;

/// The addresses of the program's blocks, by their kind, from its own file.
fn truth(path: &Path) -> HashMap<String, Vec<u64>> {
    let mut truth: HashMap<String, Vec<u64>> = HashMap::new();
    for line in fs::read_to_string(path).unwrap().lines() {
        let (kind, number) = line.split_once(' ').unwrap();
        let all = truth.entry(kind.to_owned()).or_default();
        all.push(number.parse().unwrap());
    }
    truth
}

/// The program, recorded like that. `None`: there is no compiler.
fn begin(folder: &Folder, memory: &str) -> Option<(Asked, HashMap<String, Vec<u64>>)> {
    let Some(program) = c_program(folder, "blocks", PROGRAM) else {
        skip("there is no C compiler");
        return None;
    };
    let truth_file = folder.path().join("truth");
    let mut command = folder.profundo(&["record", memory, "-o", "r.profundo", "--"]);
    command.arg(program).arg(&truth_file).stderr(Stdio::null());
    let asked = Asked::of(command);
    Some((asked, truth(&truth_file)))
}

fn ends_well(asked: Asked) {
    let (outcome, code) = asked.end();
    assert_eq!((outcome.as_str(), code), ("nothing was noticed\n", Some(0)));
}

fn node_of(graph: &Graph, address: u64) -> NodeId {
    let mut all = graph.nodes();
    all.find(|&node| graph.id(node) == address)
        .unwrap_or_else(|| panic!("{address:#x} is missing"))
}

/// To what it points, and what each of these references is called.
fn held(graph: &Graph, node: NodeId) -> Vec<(String, u64)> {
    let edges = graph.edges_of(node);
    edges
        .map(|edge| {
            let name = match graph.label(edge) {
                Label::Name(name) => String::from_utf8_lossy(graph.text(name)).into_owned(),
                Label::Index(index) => index.to_string(),
            };
            (name, graph.id(graph.edge_to(edge)))
        })
        .collect()
}

/// To what the nodes of this name point.
fn held_by(graph: &Graph, name: &str) -> Vec<(String, u64)> {
    let is_it = |node: &NodeId| graph.text(graph.name(*node)) == name.as_bytes();
    let nodes = graph.nodes().filter(is_it);
    nodes.flat_map(|node| held(graph, node)).collect()
}

#[test]
fn each_block_of_a_native_program_is_there_with_what_it_holds() {
    let folder = Folder::new();
    let Some((asked, truth)) = begin(&folder, "--memory=exact") else {
        return;
    };
    let pid = truth["process"][0].to_string();
    let (list, ring, lost) = (&truth["list"], &truth["ring"], &truth["lost"]);
    for _ in 0..3 {
        let outcome = folder.run(&["snapshot", &pid, "-o", "x.heapsnapshot"]);
        outcome.succeeded();
        assert!(outcome.err.contains("held up for"), "{outcome:#?}");
        let graph = heapsnapshot::read_file(folder.path().join("x.heapsnapshot")).unwrap();
        let node = |address| node_of(&graph, address);
        let may = |address| vec![("may +0".to_owned(), address)];
        for pair in list.windows(2) {
            assert_eq!(held(&graph, node(pair[0])), may(pair[1]));
            assert_eq!(graph.size(node(pair[0])), 48);
        }
        assert!(held(&graph, node(list[999])).is_empty());
        assert_eq!(held(&graph, node(ring[0])), may(ring[1]));
        assert_eq!(held(&graph, node(ring[1])), may(ring[0]));
        assert_eq!(held(&graph, node(lost[0])), may(lost[1]));
        let data: Vec<u64> = held_by(&graph, "blocks")
            .iter()
            .map(|block| block.1)
            .collect();
        assert!(data.contains(&list[0]) && data.contains(&ring[0]));
        let lost_ones = held_by(&graph, "(Unreachable)");
        assert!(
            lost_ones.contains(&("nobody".to_owned(), lost[0])),
            "{lost_ones:?}"
        );
        assert!(lost_ones.iter().all(|block| block.1 != lost[1]
            && block.1 != truth["held"][0]
            && !list.contains(&block.1)
            && !ring.contains(&block.1)));
        let name = graph.text(graph.name(node(lost[0])));
        // Types have no names in C: the function that allocated it names it.
        assert_eq!(name, b"UnknownType (make)");
    }
    let outcome = folder.run(&["heap", &pid, "--types"]);
    outcome.succeeded();
    assert!(outcome.out.contains("UnknownType (make)"), "{outcome:#?}");
    ends_well(asked);
    // The copies were none of the program's processes.
    let outcome = folder.run(&["report", "r.profundo"]);
    assert!(outcome.out.contains(" 1 process "), "{outcome:#?}");
}

const FORKS: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    void *volatile inherited = malloc(1234), *volatile own = 0;
    int child = fork();
    if (child == 0) {
        own = malloc(4321);
        printf("%d\n", getpid());
        fflush(stdout);
        char byte;
        while (read(0, &byte, 1) > 0) {}
        _exit(!own || !inherited);
    }
    int status;
    waitpid(child, &status, 0);
    return status != 0;
}
"#;

#[test]
fn what_the_child_of_a_fork_lacks_is_said() {
    let folder = Folder::new();
    let Some(program) = c_program(&folder, "forks", FORKS) else {
        return;
    };
    let mut command = folder.profundo(&["record", "--memory=exact", "-o", "r.profundo", "--"]);
    command.arg(program).stderr(Stdio::null());
    let mut recorded = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(recorded.stdout.take().unwrap());
    let mut child = String::new();
    out.read_line(&mut child).unwrap();
    let child = child.trim();
    let outcome = folder.run(&["snapshot", child, "-o", "child.heapsnapshot"]);
    outcome.succeeded();
    let stat = fs::read_to_string(format!("/proc/{child}/stat")).unwrap();
    let parent = stat.rsplit_once(") ").unwrap().1.split(' ').nth(1).unwrap();
    let parents = folder.run(&["snapshot", parent, "-o", "parent.heapsnapshot"]);
    parents.succeeded();
    drop(recorded.stdin.take());
    assert!(recorded.wait().unwrap().success());
    let sizes = |name: &str| -> Vec<u64> {
        let graph = heapsnapshot::read_file(folder.path().join(name)).unwrap();
        graph.nodes().map(|node| graph.size(node)).collect()
    };
    let (childs, of_parent) = (sizes("child.heapsnapshot"), sizes("parent.heapsnapshot"));
    assert!(of_parent.contains(&1234) && !of_parent.contains(&4321));
    assert!(childs.contains(&4321) && !childs.contains(&1234));
    assert!(
        outcome.err.contains("is the child of a fork"),
        "{outcome:#?}"
    );
    assert!(!parents.err.contains("fork"), "{parents:#?}");
}

const WAITS: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void) {
    FILE *file = fopen("pid", "w");
    void *volatile block = malloc(777);
    fprintf(file, "%d", getpid());
    fclose(file);
    puts("ready");
    fflush(stdout);
    char byte;
    while (read(0, &byte, 1) > 0) {}
    return !block;
}
"#;

/// The program, compiled so, and recorded exactly; its number.
fn waits(folder: &Folder, how: &str) -> Option<(Asked, String)> {
    let file = folder.file("waits.c", WAITS);
    let mut compile = Command::new("gcc");
    let compiled = compile.arg(how).arg(file).args(["-o", "waits"]);
    let compiled = compiled.current_dir(folder.path()).stderr(Stdio::null());
    if !compiled.status().is_ok_and(|status| status.success()) {
        skip(&format!("there is no C compiler that can do {how}"));
        return None;
    }
    let mut command = folder.profundo(&["record", "--memory=exact", "-o", "w.profundo", "--"]);
    command.arg("./waits").stderr(Stdio::null());
    let asked = Asked::of(command);
    let pid = fs::read_to_string(folder.path().join("pid")).unwrap();
    Some((asked, pid))
}

#[test]
fn why_nothing_is_known_of_a_static_program_is_said() {
    let folder = Folder::new();
    let Some((asked, pid)) = waits(&folder, "-static") else {
        return;
    };
    let outcome = folder.run(&["snapshot", &pid, "-o", "x.heapsnapshot"]);
    outcome.refused(
        1,
        "although it is being recorded: nothing could be loaded into it",
    );
    assert_eq!(asked.end().1, Some(0));
}

#[test]
fn blocks_of_a_program_without_names_are_called_by_where_they_were_asked_for() {
    let folder = Folder::new();
    let Some((asked, pid)) = waits(&folder, "-s") else {
        return;
    };
    let outcome = folder.run(&["heap", &pid, "--types"]);
    outcome.succeeded();
    let is_it = |line: &str| line.contains("777 B") && line.contains("UnknownType (waits+0x");
    assert!(outcome.out.lines().any(is_it), "{outcome:#?}");
    assert_eq!(asked.end().1, Some(0));
}

#[test]
fn what_a_killed_command_has_left_goes_with_the_next_snapshot() {
    let folder = Folder::new();
    let Some((asked, pid)) = waits(&folder, "-g") else {
        return;
    };
    let mut gone = Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let (gone, own) = (gone.id(), std::process::id());
    let left = ["nodes", "edges", "strings", "metadata.json"];
    let left = left.map(|ending| folder.file(&format!(".x.heapsnapshot.{gone}.{ending}"), "left"));
    let others = [
        folder.file(&format!(".x.heapsnapshot.{own}.nodes"), "of one that runs"),
        folder.file(&format!(".y.heapsnapshot.{gone}.nodes"), "of another file"),
        folder.file(".x.heapsnapshot.notes", "my own text"),
        folder.file(&format!(".x.heapsnapshot.{gone}.txt"), "my own text"),
    ];
    folder
        .run(&["snapshot", &pid, "-o", "x.heapsnapshot"])
        .succeeded();
    assert!(left.iter().all(|file| !file.exists()));
    assert!(others.iter().all(|file| file.exists()));
    assert_eq!(asked.end().1, Some(0));
}

const RUST: &str = r#"
use std::collections::HashMap;
use std::rc::Rc;
struct Node { next: Option<Box<Node>>, name: String }
fn main() {
    let mut list = None;
    for number in 0..100 {
        list = Some(Box::new(Node { next: list, name: format!("node number {number}") }));
    }
    let map: HashMap<u64, Vec<u64>> = (0..50).map(|key| (key, vec![key; 10])).collect();
    let shared: Vec<Rc<[u8; 50]>> = (0..20).map(|_| Rc::new([1; 50])).collect();
    std::fs::write("pid", std::process::id().to_string()).unwrap();
    println!("ready");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    assert!(list.is_some_and(|node| node.next.is_some() && node.name.ends_with("99")));
    assert_eq!((map.len(), shared.len()), (50, 20));
}
"#;

const CPP: &str = r#"
#include <map>
#include <memory>
#include <stdio.h>
#include <string>
#include <unistd.h>
#include <vector>
struct Base { virtual ~Base() {} };
struct Derived : Base { long more[10]; };
int main() {
    std::map<int, std::string> map;
    std::vector<std::unique_ptr<Base>> all;
    for (int i = 0; i < 100; i++) {
        map[i] = std::string(100, 'a');
        all.push_back(std::make_unique<Derived>());
    }
    FILE *file = fopen("pid", "w");
    fprintf(file, "%d", getpid());
    fclose(file);
    puts("ready");
    fflush(stdout);
    char byte;
    while (read(0, &byte, 1) > 0) {}
    return !(map.size() == 100 && all.size() == 100);
}
"#;

#[test]
fn blocks_are_called_by_what_they_are_for() {
    let folder = Folder::new();
    let rust = [
        ("Box<program::Node>", 100),
        ("String", 100),
        ("Vec<u64>", 50),
        ("HashMap<u64, Vec<u64>>", 1),
        ("Rc<[u8; 50]>", 20),
    ];
    let cpp = [
        ("std::map<int, std::string>", 100),
        ("std::string", 100),
        ("std::unique_ptr<Derived>", 100),
        ("std::vector<std::unique_ptr<Base>>", 1),
    ];
    let made = [
        ("rustc", "program.rs", RUST, &rust[..]),
        ("g++", "program.cpp", CPP, &cpp[..]),
    ];
    for (compiler, file, source, types) in made {
        folder.file(file, source);
        let mut compile = Command::new(compiler);
        compile.args(["-g", file, "-o", "program"]);
        let compiled = compile.current_dir(folder.path()).status();
        if !compiled.is_ok_and(|status| status.success()) {
            skip(&format!("there is no {compiler}"));
            continue;
        }
        let mut command = folder.profundo(&["record", "--memory=exact", "-o", "t.profundo", "--"]);
        command.arg("./program").stderr(Stdio::null());
        let asked = Asked::of(command);
        let pid = fs::read_to_string(folder.path().join("pid")).unwrap();
        let outcome = folder.run(&["snapshot", &pid, "-o", "t.heapsnapshot"]);
        outcome.succeeded();
        let graph = heapsnapshot::read_file(folder.path().join("t.heapsnapshot")).unwrap();
        for &(name, wanted) in types {
            let is_it = |node: &NodeId| graph.text(graph.name(*node)) == name.as_bytes();
            assert_eq!(graph.nodes().filter(is_it).count(), wanted, "{name}");
        }
        assert_eq!(asked.end().1, Some(0));
    }
}

#[test]
fn programs_with_unknown_blocks_are_refused() {
    let folder = Folder::new();
    let Some((asked, truth)) = begin(&folder, "--memory") else {
        return;
    };
    let pid = truth["process"][0].to_string();
    for words in [&["snapshot", &pid, "-o", "x"][..], &["heap", &pid]] {
        let outcome = folder.run(words);
        outcome.refused(1, "its blocks are not known: start it with");
        assert!(
            outcome.err.contains("no Python interpreter"),
            "{outcome:#?}"
        );
    }
    let outcome = folder.run(&["snapshot", &pid, "--native", "-o", "x"]);
    outcome.refused(1, "its blocks are not known: start it with");
    assert!(!folder.path().join("x").exists());
    ends_well(asked);
}

/// Children of a process that have not ended.
fn children(pid: &str) -> usize {
    let of = |entry: fs::DirEntry| {
        let line = fs::read_to_string(entry.path().join("stat")).ok()?;
        let (_, fields) = line.rsplit_once(") ")?;
        let fields: Vec<&str> = fields.split(' ').collect();
        (fields[1] == pid && !matches!(fields[0], "Z" | "X")).then_some(())
    };
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(of).count()
}

#[test]
fn the_command_may_be_killed_at_any_time() {
    let folder = Folder::new();
    let Some((asked, truth)) = begin(&folder, "--memory=exact") else {
        return;
    };
    let pid = truth["process"][0].to_string();
    for milliseconds in [1, 5, 10, 12, 14, 16, 18, 20, 25, 30, 35, 40, 50, 60] {
        let mut command = folder.profundo(&["snapshot", &pid, "-o", "x.heapsnapshot"]);
        let mut asks = command.stderr(Stdio::null()).spawn().unwrap();
        // The moment is the subject.
        thread::sleep(Duration::from_millis(milliseconds));
        asks.kill().unwrap();
        asks.wait().unwrap();
        wait_until("the end of its copy", || children(&pid) == 0);
    }
    folder
        .run(&["snapshot", &pid, "-o", "x.heapsnapshot"])
        .succeeded();
    ends_well(asked);
}
