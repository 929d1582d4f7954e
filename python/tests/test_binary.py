"""The command is found wherever an installer has put it."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
import zipapp
import zipfile

import support

FIND = "import profundo._binary as b; print(b.find())"


class TestFind(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="profundo-find-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.version = "python{}.{}".format(*sys.version_info[:2])

    def install(self, packages, scripts):
        """The package in one folder, and a command in another."""
        packages, scripts = os.path.join(self.folder, packages), os.path.join(self.folder, scripts)
        shutil.copytree(support.PACKAGE, os.path.join(packages, "profundo"))
        return packages, self.program(scripts)

    def program(self, scripts):
        os.makedirs(scripts, exist_ok=True)
        path = os.path.join(scripts, "profundo")
        with open(path, "w") as file:
            file.write("#!/bin/sh\necho it is me\n")
        os.chmod(path, 0o755)
        return path

    def find(self, packages, python=sys.executable, **variables):
        environment = {"PATH": "/usr/bin:/bin", "HOME": self.folder, "PYTHONPATH": packages}
        environment.update(variables)
        return subprocess.run(
            [python, "-c", FIND],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
        )

    def assert_found(self, path, packages, **options):
        done = self.find(packages, **options)
        self.assertEqual(done.stdout.strip(), path, done.stderr)

    def test_a_prefix_an_overlay_or_a_virtual_environment(self):
        packages, program = self.install(f"p/lib/{self.version}/site-packages", "p/bin")
        self.assert_found(program, packages)

    def test_lib64_and_debian(self):
        packages, program = self.install(f"q/lib64/{self.version}/site-packages", "q/bin")
        self.assert_found(program, packages)
        packages, program = self.install("r/lib/python3/dist-packages", "r/bin")
        # `python3` is a version of Debian's.
        self.assert_found(program, packages)

    def test_a_target(self):
        packages, program = self.install("t", "t/bin")
        self.assert_found(program, packages)

    def test_the_users_scripts(self):
        packages, program = self.install("elsewhere", ".local/bin")
        self.assert_found(program, packages)

    def test_the_package_of_a_target_in_a_virtual_environment_has_its_own_command(self):
        packages, program = self.install("own", "own/bin")
        venv = os.path.join(self.folder, "venv")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
        self.program(os.path.join(venv, "bin"))
        self.assert_found(program, packages, python=os.path.join(venv, "bin", "python"))

    def test_the_scripts_of_a_virtual_environment_serve_a_package_from_elsewhere(self):
        packages, _ = self.install("elsewhere", "nowhere")
        venv = os.path.join(self.folder, "venv")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
        program = self.program(os.path.join(venv, "bin"))
        self.assert_found(program, packages, python=os.path.join(venv, "bin", "python"))

    def test_path_is_last(self):
        packages, program = self.install("elsewhere", "on/path")
        self.assert_found(program, packages, PATH=os.path.dirname(program) + ":/usr/bin:/bin")

    def test_a_variable_names_another(self):
        packages, _ = self.install("t", "t/bin")
        other = self.program(os.path.join(self.folder, "other"))
        self.assert_found(other, packages, PROFUNDO_BINARY=other)
        done = self.find(packages, PROFUNDO_BINARY="/no/such/program")
        self.assertIn("PROFUNDO_BINARY names /no/such/program", done.stderr)

    def test_an_error_names_all_places(self):
        packages, program = self.install("t", "t/bin")
        os.chmod(program, stat.S_IRUSR)
        done = self.find(packages)
        self.assertNotEqual(done.returncode, 0)
        for place in (
            program,
            os.path.join(self.folder, ".local/bin/profundo"),
            "PATH",
            "PROFUNDO_BINARY",
        ):
            self.assertIn(place, done.stderr)

    def test_an_archive_is_unpacked_once(self):
        app, _ = self.install("app", "app/bin")
        with open(os.path.join(app, "__main__.py"), "w") as file:
            file.write(FIND)
        archive = os.path.join(self.folder, "app.pyz")
        zipapp.create_archive(app, archive)
        found = [self.run_archive(archive) for _ in range(2)]
        self.assertEqual(found[0], found[1])
        self.assertTrue(found[0].startswith(os.path.join(self.folder, ".cache", "profundo")), found)
        self.assertEqual(subprocess.check_output([found[0]]), b"it is me\n")

    def run_archive(self, archive):
        self.assertTrue(zipfile.is_zipfile(archive))
        environment = {"PATH": "/usr/bin:/bin", "HOME": self.folder}
        done = subprocess.run(
            [sys.executable, archive],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()


class TestMain(unittest.TestCase):
    """``python -m profundo`` is the command."""

    def run_module(self, *words, **options):
        environment = dict(os.environ, PYTHONPATH=support.SOURCES)
        return subprocess.run(
            [sys.executable, "-m", "profundo", *words],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
            **options,
        )

    def test_output_and_exit_code_are_those_of_the_command(self):
        for words in (["--version"], ["report", "--no-such-option"], ["no-such-verb"]):
            theirs = subprocess.run(
                [support.command(), *words],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                universal_newlines=True,
            )
            ours = self.run_module(*words)
            self.assertEqual(
                (ours.returncode, ours.stdout, ours.stderr),
                (theirs.returncode, theirs.stdout, theirs.stderr),
            )

    def test_a_python_file_is_run_by_this_python(self):
        program = os.path.join(support.folder(), "who.py")
        with open(program, "w") as file:
            file.write("import os, sys; print(sys.executable, 'PROFUNDO_PYTHON' in os.environ)")
        out = os.path.join(support.folder(), "who.profundo")
        done = self.run_module("record", "--no-config", "-o", out, program)
        self.assertEqual(done.stdout, sys.executable + " False\n", done.stderr)
        done = self.run_module("time", "--runs", "1", program)
        self.assertIn(sys.executable + " False\n", done.stdout, done.stderr)


if __name__ == "__main__":
    unittest.main()
