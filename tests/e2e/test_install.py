"""What `meson install` puts into a prefix works from there, for programs and for the library."""

import os
import shutil
import subprocess

import pytest

from conftest import BUILD, run_verify

PROGRAM = r"""
#include <sbx.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	struct sbx_policy p = { .agent = "generic", .workdir = argv[1] };
	char *const cmd[] = { (char *)"true", NULL };
	struct sbx_wrapped w;
	struct sbx_error e = { 0 };
	(void)argc;
	if (sbx_wrap(&w, cmd, &p, NULL, &e) < 0) {
		printf("%s\n", sbx_error_code_name(e.code));
		return 1;
	}
	printf("%s %s\n", sbx_version(), w.argv.v[w.argv.n - 1]);
	return 0;
}
"""


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    path = tmp_path_factory.mktemp("prefix")
    subprocess.run(
        ["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", path],
        check=True, stdout=subprocess.DEVNULL,
    )
    return path / "usr" / "local"


def find(prefix, name):
    return next(p for p in prefix.rglob(name))


def test_the_installed_program_finds_its_files(prefix, monkeypatch):
    monkeypatch.setattr("conftest.VERIFY", prefix / "bin" / "sbx-verify")
    assert (prefix / "share/sbx/expect.tbl").exists()
    result = run_verify("--agent", "generic", "--net", "off")
    assert result.status == 0, result.out + result.err


@pytest.mark.parametrize("static", [False, True], ids=["shared", "static"])
def test_a_program_of_somebody_else_builds_and_runs(prefix, public_dir, static):
    pc = find(prefix, "sbx.pc")
    env = dict(os.environ, PKG_CONFIG_PATH=str(pc.parent), PKG_CONFIG_SYSROOT_DIR=str(prefix.parents[1]))
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "sbx"] + (["--static"] if static else []),
        env=env, check=True, capture_output=True, text=True,
    ).stdout.split()
    source, program = public_dir / "p.c", public_dir / "p"
    source.write_text(PROGRAM)
    libdir = find(prefix, "libsbx.so").parent
    if static:
        flags = [str(libdir / "libsbx.a") if f == "-lsbx" else f for f in flags]
        flags += ["-lseccomp"]
    subprocess.run(
        ["cc", "-std=gnu17", "-Wall", "-Werror", "-o", program, source, *flags,
         f"-Wl,-rpath,{libdir}"],
        check=True,
    )
    work = public_dir / "work"
    work.mkdir()
    env["HOME"] = str(public_dir / "home")
    good = subprocess.run([program, work], env=env, capture_output=True, text=True, check=False)
    assert (good.returncode, good.stdout.split()) == (0, ["0.1.0", "true"])
    bad = subprocess.run([program, "/etc"], env=env, capture_output=True, text=True, check=False)
    assert (bad.returncode, bad.stdout) == (1, "path-is-system\n")


def test_only_the_interface_is_exported(prefix):
    names = subprocess.run(
        ["nm", "-D", "--defined-only", find(prefix, "libsbx.so")],
        check=True, capture_output=True, text=True,
    ).stdout.split()[2::3]
    functions = [n.split("@")[0] for n in names if not n.startswith("LIBSBX")]
    assert "sbx_wrap" in functions and "sbx_launch_start" in functions
    assert all(n.startswith("sbx_") for n in functions)


def test_the_probe_is_static(prefix):
    probe = prefix / "libexec/sbx/sbx-probe"
    out = subprocess.run(["readelf", "-l", probe], check=True, capture_output=True, text=True)
    assert "INTERP" not in out.stdout
    assert shutil.which("readelf")
