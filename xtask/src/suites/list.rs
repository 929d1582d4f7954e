//! The suites as data: packages that do what is hard on a profiler, with their tests. Versions are
//! those of the last run that was looked at.

use std::fmt;

/// The runner of a suite's tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runner {
    /// pytest, with further options.
    Pytest(&'static [&'static str]),
    /// gevent's own, which has a process for each module, with options.
    Gevent(&'static [&'static str]),
}

/// A package and its tests.
#[derive(Debug)]
pub struct Suite {
    pub name: &'static str,
    pub version: &'static str,
    /// The requirements of its tests.
    pub beside: &'static [&'static str],
    /// The parts of the source distribution that the tests want around them; none if the installed
    /// package has its tests.
    pub parts: &'static [&'static str],
    /// Lines of shell that make the tests ready, in their folder. `$PYTHON` is the interpreter,
    /// `$PACKAGES` the folder of installed packages.
    pub prepare: &'static str,
    /// Variables of the tests' environment.
    pub variables: &'static [(&'static str, &'static str)],
    pub runner: Runner,
    /// Files and folders of tests.
    pub tests: &'static [&'static str],
}

impl Suite {
    pub fn requirement(&self) -> String {
        format!("{}=={}", self.name, self.version)
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.requirement())
    }
}

const PYTEST: &str = "pytest==9.2.0";

/// pytest without the package's configuration: that one wants plugins that are not needed.
const PLAIN: &[&str] = &["-c", "/dev/null"];

/// All suites, in the order of their runs.
pub const SUITES: &[Suite] = &[
    // Switches stacks by hand. Without the search for leaks around each test, which runs it many
    // times; leaks have tests of their own.
    Suite {
        name: "greenlet",
        version: "3.5.6",
        beside: &[PYTEST, "psutil==7.2.2", "objgraph==3.6.2", "setuptools"],
        parts: &[],
        prepare: "",
        variables: &[("GREENLET_SKIP_LEAKCHECKS", "1")],
        runner: Runner::Pytest(PLAIN),
        tests: &["greenlet/tests"],
    },
    // Switches stacks, and replaces threads, sockets, subprocesses and signals of the standard
    // library. Those modules that a profiler is most likely to break; not the resolvers.
    Suite {
        name: "gevent",
        version: "26.9.0",
        beside: &["psutil==7.2.2", "objgraph==3.6.2", "requests", "setuptools"],
        parts: &[],
        prepare: "",
        variables: &[],
        runner: Runner::Gevent(&["--no-combine", "-j", "2", "-u-network"]),
        tests: &[
            "test___monitor.py",
            "test__close_backend_fd.py",
            "test__contextvars.py",
            "test__core.py",
            "test__core_async.py",
            "test__core_callback.py",
            "test__core_fork.py",
            "test__core_loop_run.py",
            "test__core_stat.py",
            "test__core_timer.py",
            "test__core_watcher.py",
            "test__destroy.py",
            "test__destroy_default_loop.py",
            "test__event.py",
            "test__events.py",
            "test__execmodules.py",
            "test__fileobject.py",
            "test__greenlet.py",
            "test__greenletset.py",
            "test__hub.py",
            "test__hub_join.py",
            "test__hub_join_timeout.py",
            "test__import_blocking_in_greenlet.py",
            "test__iwait.py",
            "test__joinall.py",
            "test__local.py",
            "test__lock.py",
            "test__loop_callback.py",
            "test__memleak.py",
            "test__monkey.py",
            "test__monkey_fork_atomic.py",
            "test__monkey_futures_thread_fork.py",
            "test__monkey_hub_in_thread.py",
            "test__monkey_multiple_imports.py",
            "test__monkey_sigchld.py",
            "test__monkey_sigchld_2.py",
            "test__monkey_sigchld_3.py",
            "test__monkey_sigchld_wakeup_fd.py",
            "test__os.py",
            "test__pool.py",
            "test__queue.py",
            "test__refcount.py",
            "test__select.py",
            "test__selectors.py",
            "test__semaphore.py",
            "test__signal.py",
            "test__sleep0.py",
            "test__subprocess.py",
            "test__subprocess_interrupted.py",
            "test__subprocess_poll.py",
            "test__systemerror.py",
            "test__thread.py",
            "test__threading.py",
            "test__threading_2.py",
            "test__threading_before_monkey.py",
            "test__threading_fork_from_dummy.py",
            "test__threading_holding_lock_while_monkey.py",
            "test__threading_monkey_in_thread.py",
            "test__threading_native_before_monkey.py",
            "test__threading_no_monkey.py",
            "test__threading_patched_local.py",
            "test__threading_shutdown_atexit.py",
            "test__threading_vs_settrace.py",
            "test__threadpool.py",
            "test__threadpool_executor_patched.py",
            "test__timeout.py",
            "test__util.py",
        ],
    },
    // Reads what the kernel says of processes, and compares.
    Suite {
        name: "psutil",
        version: "7.2.2",
        beside: &[PYTEST, "psleak", "setuptools"],
        parts: &["tests", "scripts", "setup.py", "pyproject.toml"],
        // Its scripts are run by the interpreter that the environment was made of.
        prepare: r#"ln -s "$PACKAGES/psutil" scripts/psutil"#,
        variables: &[],
        runner: Runner::Pytest(PLAIN),
        tests: &["tests"],
    },
    // Traces, monitors, patches threads and child processes.
    Suite {
        name: "coverage",
        version: "7.17.5",
        beside: &[PYTEST, "pytest-xdist", "hypothesis", "flaky", "setuptools"],
        // Some tests read the package's own source; it gets the compiled modules of the installed
        // package, which has the same version.
        parts: &[
            "tests",
            "coverage",
            "doc",
            "tools",
            "setup.py",
            "pyproject.toml",
            "README.rst",
        ],
        prepare: r#"cp "$PACKAGES"/coverage/*.so coverage
"$PYTHON" tools/igor.py zip_mods"#,
        variables: &[],
        runner: Runner::Pytest(&["-c", "/dev/null", "-o", "python_classes=*Test"]),
        tests: &["tests"],
    },
    // Its tests run test runners, in the process and as children, and capture descriptors. All
    // parts but the readings of tracebacks, and the largest ones of collecting and of assertions.
    Suite {
        name: "pytest",
        version: "9.2.0",
        beside: &[
            "attrs",
            "hypothesis",
            "mock",
            "pexpect",
            "requests",
            "setuptools",
            "xmlschema",
        ],
        parts: &["testing", "pyproject.toml"],
        prepare: "",
        variables: &[],
        runner: Runner::Pytest(&["-p", "pytester"]),
        tests: &[
            "testing/acceptance_test.py",
            "testing/io",
            "testing/logging",
            "testing/test_capture.py",
            "testing/test_debugging.py",
            "testing/test_faulthandler.py",
            "testing/test_monkeypatch.py",
            "testing/test_pathlib.py",
            "testing/test_pytester.py",
            "testing/test_recwarn.py",
            "testing/test_runner.py",
            "testing/test_session.py",
            "testing/test_threadexception.py",
            "testing/test_tmpdir.py",
            "testing/test_unittest.py",
            "testing/test_unraisableexception.py",
        ],
    },
    // Terminals, children that stop and are interrupted. Not the tests of sockets, which wait for
    // minutes, nor those of speed.
    Suite {
        name: "pexpect",
        version: "4.9.0",
        beside: &[PYTEST],
        parts: &["tests"],
        prepare: "",
        variables: &[],
        runner: Runner::Pytest(&[
            "-c",
            "/dev/null",
            "--ignore-glob=*/test_socket*",
            "--ignore-glob=*/test_performance*",
        ]),
        tests: &["tests"],
    },
    // Calls of foreign functions, callbacks from threads that Python has not made, and programs
    // that embed Python.
    Suite {
        name: "cffi",
        version: "2.1.1",
        beside: &[PYTEST, "setuptools"],
        parts: &["testing", "src/c/test_c.py", "src/c/_cffi_backend.c"],
        prepare: "",
        variables: &[],
        runner: Runner::Pytest(PLAIN),
        tests: &[
            "src/c/test_c.py",
            "testing/embedding",
            "testing/cffi0/test_ffi_backend.py",
            "testing/cffi0/test_function.py",
            "testing/cffi0/test_ownlib.py",
            "testing/cffi0/test_zintegration.py",
        ],
    },
    // An event loop in C: signals, children, descriptors. Not the tests of the source's style, nor
    // those that build something.
    Suite {
        name: "uvloop",
        version: "0.23.0",
        beside: &[PYTEST, "aiohttp", "psutil==7.2.2", "pyopenssl"],
        parts: &["tests"],
        prepare: "",
        variables: &[],
        runner: Runner::Pytest(PLAIN),
        tests: &[
            "tests/test_aiohttp.py",
            "tests/test_base.py",
            "tests/test_context.py",
            "tests/test_dealloc.py",
            "tests/test_executors.py",
            "tests/test_fs_event.py",
            "tests/test_libuv_api.py",
            "tests/test_pipes.py",
            "tests/test_process.py",
            "tests/test_process_spawning.py",
            "tests/test_regr1.py",
            "tests/test_runner.py",
            "tests/test_signals.py",
            "tests/test_sockets.py",
            "tests/test_udp.py",
            "tests/test_unix.py",
        ],
    },
    // Tasks, threads, signals and children, and a garbage collector that is watched.
    Suite {
        name: "trio",
        version: "0.35.0",
        beside: &[PYTEST, "astor", "trustme", "pyopenssl", "jedi"],
        parts: &[],
        prepare: "",
        variables: &[],
        runner: Runner::Pytest(&[
            "-c",
            "/dev/null",
            "-p",
            "trio._tests.pytest_plugin",
            "--skip-optional-imports",
        ]),
        tests: &["trio/_core/_tests", "trio/_tests"],
    },
    // Kernels as children, which are interrupted and shut down, and a debugger in them.
    Suite {
        name: "ipykernel",
        version: "7.4.0",
        beside: &[
            PYTEST,
            "flaky",
            "ipyparallel",
            "pytest-asyncio",
            "pytest-timeout",
        ],
        parts: &["tests", "pyproject.toml"],
        prepare: "",
        variables: &[],
        runner: Runner::Pytest(&["-o", "asyncio_default_fixture_loop_scope=function"]),
        tests: &["tests"],
    },
    // Memory of its own, vector registers, thousands of small calls: those parts of its core's
    // tests that are about memory, threads, floating-point flags and the largest part, arrays.
    Suite {
        name: "numpy",
        version: "2.5.5",
        beside: &[PYTEST, "hypothesis", "setuptools"],
        parts: &[],
        prepare: "",
        variables: &[],
        runner: Runner::Pytest(PLAIN),
        tests: &[
            "numpy/_core/tests/test_dtype.py",
            "numpy/_core/tests/test_errstate.py",
            "numpy/_core/tests/test_indexing.py",
            "numpy/_core/tests/test_longdouble.py",
            "numpy/_core/tests/test_mem_overlap.py",
            "numpy/_core/tests/test_mem_policy.py",
            "numpy/_core/tests/test_multiarray.py",
            "numpy/_core/tests/test_multithreading.py",
            "numpy/_core/tests/test_nditer.py",
        ],
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn suites_have_names_of_their_own_and_tests() {
        let names: BTreeSet<&str> = SUITES.iter().map(|suite| suite.name).collect();
        assert_eq!(names.len(), SUITES.len());
        for suite in SUITES {
            assert!(!suite.tests.is_empty(), "{suite}");
            // What is prepared is prepared in the sources.
            assert!(
                suite.prepare.is_empty() || !suite.parts.is_empty(),
                "{suite}"
            );
        }
    }
}
