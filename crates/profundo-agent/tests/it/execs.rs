//! Programs that become other programs, or start them: all are followed.

use std::process::Command;

use crate::program;
use crate::recorder::{NO_SAMPLES, Options, SAMPLING, compare};

/// Every way to execute something, by its name; then a failing one first.
const WAYS: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
static char *const args[] = {"sh", "-c", "echo $0 $A $B $LD_PRELOAD $PROFUNDO_SESSION", NULL};
static void go(const char *way) {
    char *const env[] = {"A=1", "B=2", NULL};
    if (!strcmp(way, "execve")) execve("/bin/sh", args, env);
    if (!strcmp(way, "execv")) execv("/bin/sh", args);
    if (!strcmp(way, "execvp")) execvp("sh", args);
    if (!strcmp(way, "execvpe")) execvpe("sh", args, env);
    if (!strcmp(way, "execl")) execl("/bin/sh", "sh", "-c", args[2], (char *)0);
    if (!strcmp(way, "execlp"))
        execlp("sh", "sh", "-c", "echo $# $*", "sh", "1", "2", "3", "4", "5", "6", "7", (char *)0);
    if (!strcmp(way, "execle")) execle("/bin/sh", "sh", "-c", args[2], (char *)0, env);
    if (!strcmp(way, "execle-long"))
        execle("/bin/sh", "sh", "-c", "echo $# $* $A $B", "sh", "1", "2", "3", "4", "5", "6", (char *)0, env);
    if (!strcmp(way, "fexecve")) fexecve(open("/bin/sh", O_RDONLY | O_CLOEXEC), args, env);
    if (!strcmp(way, "execveat")) execveat(AT_FDCWD, "/bin/sh", args, env, 0);
    if (!strcmp(way, "empty")) execve("/bin/sh", args, NULL);
    if (!strcmp(way, "many")) {
        char **many = calloc(5001, sizeof *many);
        for (int i = 0; i < 5000; i++) asprintf(&many[i], "V%d=%d", i, i);
        execve("/bin/sh", args, many);
    }
    if (!strcmp(way, "some")) {
        char **many = calloc(601, sizeof *many);
        for (int i = 0; i < 600; i++) asprintf(&many[i], "V%d=%d", i, i);
        execve("/bin/sh", args, many);
    }
    _exit(99);
}
int main(int argc, char **argv) {
    const char *how = argv[1], *way = argv[2];
    errno = 0;
    if (execl("/does/not/exist", "x", (char *)0) != -1 || errno != ENOENT) return 98;
    int status = 0;
    pid_t child = 0;
    if (!strcmp(how, "here")) go(way);
    else if (!strcmp(how, "fork")) { if (!(child = fork())) go(way); }
    else if (!strcmp(how, "vfork")) { if (!(child = vfork())) go(way); }
    else if (!strcmp(how, "spawn")) {
        char *const env[] = {"A=1", "B=2", NULL};
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, 7, "/dev/null", O_RDONLY, 0);
        char *const sh[] = {"sh", "-c", "echo $A $B $LD_PRELOAD; test -e /proc/self/fd/7 && echo seven", NULL};
        if (posix_spawn(&child, "/bin/sh", &actions, NULL, sh, env)) return 97;
    } else if (!strcmp(how, "spawnp")) {
        if (posix_spawnp(&child, "sh", NULL, NULL, args, environ)) return 97;
        pid_t none;
        if (posix_spawnp(&none, "/does/not/exist", NULL, NULL, args, environ) != ENOENT) return 96;
    } else if (!strcmp(how, "system")) {
        setenv("A", "1", 1);
        status = system("echo $A $LD_PRELOAD $PROFUNDO_SESSION; exit 5");
        printf("%d %d\n", WIFEXITED(status), WEXITSTATUS(status));
        status = system("kill -INT $$");
        printf("%d %d %d\n", WIFSIGNALED(status), WTERMSIG(status), system(NULL) != 0);
        return 0;
    } else if (!strcmp(how, "popen")) {
        char line[4096];
        FILE *stream = popen("echo $A $LD_PRELOAD $PROFUNDO_SESSION; exit 6", "r");
        while (fgets(line, sizeof line, stream)) fputs(line, stdout);
        status = pclose(stream);
        printf("%d %d\n", WEXITSTATUS(status), getenv("LD_PRELOAD") == NULL);
        stream = popen("cat", "w");
        fputs("to cat\n", stream);
        fflush(stdout);
        pclose(stream);
        for (char **e = environ; *e; e++) if (strstr(*e, "PROFUNDO_SESSION")) puts("seen");
        return 0;
    }
    waitpid(child, &status, 0);
    fflush(stdout);
    printf("%d\n", WEXITSTATUS(status));
    return 0;
}
"#;

#[test]
fn each_way_is_followed() {
    for way in [
        "execve",
        "execv",
        "execvp",
        "execvpe",
        "execl",
        "execlp",
        "execle",
        "execle-long",
        "fexecve",
        "execveat",
        "empty",
        "many",
        "some",
    ] {
        for how in ["here", "fork", "vfork"] {
            let mut command = program!("ways", WAYS);
            let run = compare(NO_SAMPLES, command.args([how, way]));
            let expected = if how == "fork" { (2, 1) } else { (2, 0) };
            assert_eq!(run.kinds(), expected, "{how} {way}: {:?}", run.seen);
            assert!(run.text().len() > 1, "{how} {way}");
        }
    }
}

#[test]
fn what_is_spawned_is_followed() {
    for (how, programs) in [("spawn", 2), ("spawnp", 2), ("system", 3), ("popen", 4)] {
        let mut command = program!("ways", WAYS);
        let run = compare(NO_SAMPLES, command.args([how, ""]));
        assert_eq!(run.kinds().0, programs, "{how}: {:?}", run.seen);
    }
}

#[test]
fn where_children_are_not_wanted_they_get_nothing() {
    let options = Options {
        follow: false,
        ..NO_SAMPLES
    };
    for how in ["spawn", "system", "popen"] {
        let mut command = program!("ways", WAYS);
        assert_eq!(compare(options, command.args([how, ""])).kinds(), (1, 0));
    }
    let mut command = program!("ways", WAYS);
    assert_eq!(
        compare(options, command.args(["fork", "execve"])).kinds(),
        (1, 0)
    );
}

#[test]
fn a_program_that_executes_itself_again_and_again() {
    let source = r#"
        #include <stdio.h>
        #include <stdlib.h>
        #include <unistd.h>
        int main(int argc, char **argv) {
            int left = atoi(argv[1]);
            char text[16];
            if (!left) return puts("done"), 3;
            for (volatile int i = 0; i < 1000000; i++);
            sprintf(text, "%d", left - 1);
            execl(argv[0], argv[0], text, (char *)0);
            return 1;
        }"#;
    let mut command = program!("chain", source);
    let run = compare(SAMPLING, command.arg("10"));
    assert_eq!(run.output.status.code(), Some(3));
    // The process stays, so all of them are seen only if each took a ring of its own.
    assert_eq!(run.kinds(), (11, 0));
}

#[test]
fn nothing_of_ours_waits_in_the_next_program() {
    let source = r#"
        #include <signal.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <unistd.h>
        int main(int argc, char **argv) {
            int left = atoi(argv[1]);
            char text[16];
            sigset_t all, waiting;
            sigpending(&waiting);
            printf("%d %d\n", sigismember(&waiting, SIGURG), sigismember(&waiting, SIGTRAP));
            fflush(stdout);
            if (!left) return 3;
            sigfillset(&all);
            sigprocmask(SIG_SETMASK, &all, 0);
            for (volatile int i = 0; i < 20000000; i++);
            /* One that fails: the clocks go on. */
            execl("/does/not/exist", "x", (char *)0);
            for (volatile int i = 0; i < 20000000; i++);
            sprintf(text, "%d", left - 1);
            execl(argv[0], argv[0], text, (char *)0);
            return 1;
        }"#;
    let mut command = program!("waiting", source);
    let run = compare(SAMPLING, command.arg("5"));
    assert_eq!(run.output.status.code(), Some(3));
    assert_eq!(run.kinds(), (6, 0));
    // Each asks before both of its calls, and is answered; the last one makes none.
    let silences: Vec<u32> = run.seen.iter().map(|seen| seen.silences).collect();
    assert_eq!(silences, [2, 2, 2, 2, 2, 0]);
}

#[test]
fn a_shell_and_all_that_it_starts() {
    let mut command = Command::new("bash");
    command.args([
        "-c",
        "ls / | sort | head -3; (cd /; pwd); x=$(echo a | tr a b); echo $x; exec echo end",
    ]);
    let run = compare(SAMPLING, &mut command);
    let names: Vec<&str> = run.seen.iter().map(|seen| seen.command.as_str()).collect();
    for name in ["bash", "ls", "sort", "head", "tr", "echo"] {
        assert!(names.contains(&name), "{name} is not in {names:?}");
    }
}

/// An environment that another thread looks at while the C library starts a shell by its own means.
#[test]
fn popen_in_many_threads() {
    let source = r#"
        #define _GNU_SOURCE
        #include <pthread.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        extern char **environ;
        static void *work(void *arg) {
            char name[32], line[64];
            for (int i = 0; i < 10; i++) {
                sprintf(name, "V%ld_%d", (long)arg, i);
                FILE *stream = popen("echo a", "r");
                if (getenv(name)) puts("found");
                if (!fgets(line, sizeof line, stream) || strcmp(line, "a\n")) puts("wrong");
                if (pclose(stream)) puts("wrong end");
            }
            return NULL;
        }
        int main(void) {
            pthread_t threads[4];
            for (long i = 0; i < 4; i++) pthread_create(&threads[i], 0, work, (void *)i);
            for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
            int ours = 0;
            for (char **e = environ; *e; e++) ours += strstr(*e, "PROFUNDO_SESSION") || strstr(*e, "LD_PRELOAD");
            printf("%d\n", ours);
            return 0;
        }"#;
    let mut command = program!("popens", source);
    let run = compare(NO_SAMPLES, &mut command);
    assert_eq!(run.kinds().0, 41);
}
