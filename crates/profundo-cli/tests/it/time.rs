//! `time`: the resource use of programs, whichever process reaps their children, against their own
//! figures.

mod judged;
mod shown;
mod untouched;

use std::path::PathBuf;

use crate::machine::{Folder, Outcome, c_program};

/// Works for so many hundredths of a second of CPU time in ways that are hard to account for.
const TREE_C: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static double seconds(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}
static volatile unsigned sink;
static void work(double hundredths) {
    double until = seconds(CLOCK_THREAD_CPUTIME_ID) + hundredths / 100;
    while (seconds(CLOCK_THREAD_CPUTIME_ID) < until) for (int i = 0; i < 20000; i++) sink += i;
}
static void *thread(void *of) { work(*(double *) of); return 0; }
int main(int argc, char **argv) {
    const char *way = argv[1];
    double much = atof(argv[2]);
    int ends[2];
    char byte;
    if (pipe(ends)) return 99;
    if (!strcmp(way, "alone")) {
        work(much);
    } else if (!strcmp(way, "waited")) {
        if (!fork()) { work(much); _exit(0); }
        wait(0);
    } else if (!strcmp(way, "double")) {
        pid_t middle = fork();
        if (!middle) {
            if (!fork()) { work(much); _exit(0); }
            _exit(0);
        }
        waitpid(middle, 0, 0);
        close(ends[1]);
        while (read(ends[0], &byte, 1) > 0) {}
    } else if (!strcmp(way, "ignored")) {
        signal(SIGCHLD, SIG_IGN);
        for (int i = 0; i < 10; i++) if (!fork()) { work(much / 10); _exit(0); }
        while (wait(0) > 0) {}
    } else if (!strcmp(way, "left")) {
        if (!fork()) {
            work(much);
            if (write(ends[1], "x", 1) != 1) _exit(9);
            for (int i = 0; i < 64; i++) if (i != ends[0]) close(i);
            close(ends[1]);
            sleep(3);
            _exit(0);
        }
        if (read(ends[0], &byte, 1) != 1) return 98;
    } else if (!strcmp(way, "many")) {
        pid_t parent = getpid();
        if (!fork()) {
            work(much);
            if (write(ends[1], "x", 1) != 1) _exit(9);
            for (int i = 0; i < 64; i++) close(i);
            while (getppid() == parent) usleep(20000);
            sleep(3);
            _exit(0);
        }
        for (int i = 0; i < 2000; i++) {
            pid_t child = fork();
            if (!child) { execl("/bin/true", "true", (char *) 0); _exit(127); }
            waitpid(child, 0, 0);
        }
        if (read(ends[0], &byte, 1) != 1) return 98;
    } else if (!strcmp(way, "threads")) {
        pthread_t all[3];
        double part = much / 3;
        for (int i = 0; i < 3; i++) pthread_create(all + i, 0, thread, &part);
        for (int i = 0; i < 3; i++) pthread_join(all[i], 0);
    } else if (!strcmp(way, "exec")) {
        work(much / 2);
        char half[20];
        snprintf(half, sizeof half, "%f", much / 2);
        execl(argv[0], argv[0], "alone", half, (char *) 0);
    } else if (!strcmp(way, "killed")) {
        work(much);
        raise(SIGKILL);
    } else if (!strcmp(way, "kernel")) {
        double until = seconds(CLOCK_PROCESS_CPUTIME_ID) + much / 100;
        while (seconds(CLOCK_PROCESS_CPUTIME_ID) < until)
            for (int i = 0; i < 50; i++) {
                char *memory = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
                munmap(memory, 1 << 20);
            }
    } else if (!strcmp(way, "memory")) {
        size_t bytes = (size_t) much << 20;
        char *memory = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise(memory, bytes, MADV_NOHUGEPAGE);
        memset(memory, 1, bytes);
    } else if (!strcmp(way, "bytes")) {
        static char buffer[1 << 20];
        int from = open("/dev/zero", O_RDONLY), to = open("written", O_CREAT | O_WRONLY, 0600);
        for (int i = 0; i < much; i++)
            if (read(from, buffer, sizeof buffer) != sizeof buffer || write(to, buffer, sizeof buffer) != sizeof buffer) return 97;
    }
    return 0;
}
"#;

/// A folder with that program.
struct Tree {
    folder: Folder,
    program: PathBuf,
}

impl Tree {
    fn new() -> Option<Self> {
        let folder = Folder::new();
        let program = c_program(&folder, "tree", TREE_C)?;
        Some(Self { folder, program })
    }

    fn words<'a>(&'a self, before: &[&'a str], way: &'a str, much: &'a str) -> Vec<&'a str> {
        let mut words = vec!["time"];
        words.extend(before);
        words.extend(["--", self.program.to_str().unwrap(), way, much]);
        words
    }

    fn run(&self, before: &[&str], way: &str, much: &str) -> Outcome {
        self.folder.run(&self.words(before, way, much))
    }

    /// The figures of a run, from the command's JSON.
    fn figures(&self, way: &str, much: &str) -> Figures {
        let outcome = self.run(&["--json"], way, much);
        Figures(outcome.err)
    }
}

/// JSON of one run.
#[derive(Debug)]
struct Figures(String);

impl Figures {
    /// The first number of that name; `None` where it is null.
    #[track_caller]
    fn number(&self, name: &str) -> Option<f64> {
        let key = format!("\"{name}\": ");
        let (_, rest) = self
            .0
            .split_once(&key)
            .unwrap_or_else(|| panic!("no {name}: {self:?}"));
        let end = rest.find([',', '\n', '}']).unwrap();
        match &rest[..end] {
            "null" => None,
            number => Some(number.parse().unwrap()),
        }
    }

    #[track_caller]
    fn known(&self, name: &str) -> f64 {
        self.number(name)
            .unwrap_or_else(|| panic!("{name} is not known: {self:?}"))
    }

    fn cpu(&self) -> f64 {
        self.known("user_seconds") + self.known("system_seconds")
    }
}
